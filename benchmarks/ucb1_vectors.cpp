/* UCB1 on K Bernoulli arms with L runs a vector and the rounds inside: an experiment of benchmarks/results/engine.md.
 *
 * The same work as ucb1_loop.c, but all statistics of a vector of runs are locals, and chance is Threefry 4x32 with 20
 * rounds, as in the engine, or with -DCHEAP an xorshift. Called as ucb1_loop.c; compile with
 * g++ -O3 -march=native -ffast-math -fno-math-errno -DK=9 -DL=8 -shared -fPIC.
 */
#include <math.h>
#include <stdint.h>

typedef float f __attribute__((vector_size(4 * L)));
typedef uint32_t u __attribute__((vector_size(4 * L)));
typedef int32_t i __attribute__((vector_size(4 * L)));

#define ROTATED(x, r) ((x << r) | (x >> (32 - r)))
static const int ROTATIONS[8][2] = {{10, 26}, {11, 21}, {13, 27}, {23, 5}, {6, 20}, {17, 11}, {25, 10}, {18, 20}};
static const f ZERO = {}, ONE = ZERO + 1.f;
static const i NONE = {};

static inline u bits(const u *key, uint32_t t) {
#ifdef CHEAP
  u x = key[0] + t * 2654435761u;
  x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  return x;
#else
  u k[5] = {key[0], key[1], key[2], key[3] + t};
  k[4] = k[0] ^ k[1] ^ k[2] ^ k[3] ^ 0x1BD11BDAu;
  u a = k[0], b = k[1], c = k[2], d = k[3];
#pragma GCC unroll 20
  for (int r = 0; r < 20; r++) {
    const int *by = ROTATIONS[r % 8];
    if (r & 1) {
      a += d, d = ROTATED(d, by[0]) ^ a, c += b, b = ROTATED(b, by[1]) ^ c;
    } else {
      a += b, b = ROTATED(b, by[0]) ^ a, c += d, d = ROTATED(d, by[1]) ^ c;
    }
    if (r % 4 == 3) {
      int q = r / 4 + 1;
      a += k[q % 5], b += k[(q + 1) % 5], c += k[(q + 2) % 5], d += k[(q + 3) % 5] + q;
    }
  }
  return a;
#endif
}

/* Sum over runs of the regret at the horizon. level[t] = sqrt(log(t) / 2), t = 1 .. horizon. */
extern "C" double play(int runs, int horizon, const float *means, const float *level, uint32_t seed) {
  double regret = 0;
  float best = 0;
  for (int k = 0; k < K; k++)
    if (means[k] > best) best = means[k];
  for (int first = 0; first < runs; first += L) {
    f mean[K], width[K], pulls[K];
    u key[4];
    for (int l = 0; l < L; l++) key[0][l] = seed + first + l, key[1][l] = seed * 3 + l, key[2][l] = l * 77, key[3][l] = first;
    for (int k = 0; k < K; k++) mean[k] = width[k] = pulls[k] = ZERO;
    for (int t = 1; t <= horizon; t++) {
      f top = ZERO - 1.f, chosen = ZERO, value = ZERO, count = ZERO;
      i arm = NONE;
#pragma GCC unroll 16
      for (int k = 0; k < K; k++) {
        f index = mean[k] + level[t] * width[k];
        index = index < 1.f ? index : ONE;
        i larger = index > top;
        top = larger ? index : top, arm = larger ? NONE + k : arm;
      }
      if (t <= K) arm = NONE + (t - 1);
      f uniform = __builtin_convertvector((i)(bits(key, t) >> 9), f) * 1.1920929e-7f;
#pragma GCC unroll 16
      for (int k = 0; k < K; k++) {
        i own = arm == k;
        chosen = own ? ZERO + means[k] : chosen, value = own ? mean[k] : value, count = own ? pulls[k] : count;
      }
      count += 1.f;
      value += ((uniform < chosen ? ONE : ZERO) - value) / count;
      f bound;
      for (int l = 0; l < L; l++) bound[l] = 1.f / sqrtf(count[l]);
#pragma GCC unroll 16
      for (int k = 0; k < K; k++) {
        i own = arm == k;
        mean[k] = own ? value : mean[k], width[k] = own ? bound : width[k], pulls[k] = own ? count : pulls[k];
      }
    }
    for (int k = 0; k < K; k++)
      for (int l = 0; l < L && first + l < runs; l++) regret += pulls[k][l] * (double)(best - means[k]);
  }
  return regret;
}
