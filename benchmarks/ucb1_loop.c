/* UCB1 on K Bernoulli arms as one tight loop: the yardstick of benchmarks/regret.py, called through ctypes.
 *
 * The same work as ucb1 + bernoulli: index min(1, mean + sqrt(log t / 2) / sqrt(n)), ties to the lowest arm, one pull of
 * each arm first. LANES runs side by side in structure-of-arrays form, so that the compiler vectorises over runs; only
 * the pulled arm's statistics are recomputed. Chance is a 32-bit xorshift, cheaper than what a reproducible generator
 * costs: that difference is part of the ratio. Compile with -DK=<arms>.
 */
#include <math.h>
#include <stdint.h>

#define LANES 64

/* Sum over runs of the regret at the horizon. level[t] = sqrt(log(t) / 2), t = 1 .. horizon. */
double play(int runs, int horizon, const float *means, const float *level, uint32_t seed) {
  float best_mean = 0;
  double regret = 0;
  for (int k = 0; k < K; k++)
    if (means[k] > best_mean) best_mean = means[k];
  for (int first = 0; first < runs; first += LANES) {
    static _Thread_local float mean[K][LANES], width[K][LANES], pulls[K][LANES];
    uint32_t state[LANES];
    for (int l = 0; l < LANES; l++) state[l] = (seed + first + l + 1) * 2654435761u;
    for (int k = 0; k < K; k++)
      for (int l = 0; l < LANES; l++) mean[k][l] = width[k][l] = pulls[k][l] = 0;
    for (int t = 1; t <= horizon; t++) {
      float top[LANES], reward[LANES], count[LANES], value[LANES];
      int arm[LANES];
      for (int l = 0; l < LANES; l++) top[l] = -1, arm[l] = 0;
      for (int k = 0; k < K; k++)
        for (int l = 0; l < LANES; l++) {
          float index = mean[k][l] + level[t] * width[k][l];
          index = index < 1 ? index : 1;
          int larger = index > top[l];
          top[l] = larger ? index : top[l];
          arm[l] = larger ? k : arm[l];
        }
      if (t <= K) /* after the search, so that every round costs the same, as it does in the compiled program */
        for (int l = 0; l < LANES; l++) arm[l] = t - 1;
      for (int l = 0; l < LANES; l++) {
        uint32_t x = state[l];
        x ^= x << 13, x ^= x >> 17, x ^= x << 5;
        state[l] = x;
        reward[l] = x * 2.3283064e-10f < means[arm[l]] ? 1.f : 0.f;
      }
      for (int l = 0; l < LANES; l++) count[l] = ++pulls[arm[l]][l], value[l] = mean[arm[l]][l];
      for (int l = 0; l < LANES; l++) {
        value[l] += (reward[l] - value[l]) / count[l];
        count[l] = 1.f / sqrtf(count[l]);
      }
      for (int l = 0; l < LANES; l++) mean[arm[l]][l] = value[l], width[arm[l]][l] = count[l];
    }
    for (int l = 0; l < LANES && first + l < runs; l++)
      for (int k = 0; k < K; k++) regret += pulls[k][l] * (double)(best_mean - means[k]);
  }
  return regret;
}
