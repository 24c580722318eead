/* What a core's vector units do at most: independent chains of fused products and sums in float32, called through
 * ctypes by benchmarks/limits.py. Two operations an entry and turn.
 */
#define CHAINS 12 /* enough to hide the latency of an operation, few enough for the registers */
#define WIDTH 16

typedef float vector __attribute__((vector_size(4 * WIDTH)));

float turns(long number, float factor, float term) {
  vector chain[CHAINS], total = {0};
  for (int c = 0; c < CHAINS; c++) chain[c] = (vector){0} + (float)c;
  for (long i = 0; i < number; i++)
    for (int c = 0; c < CHAINS; c++) chain[c] = chain[c] * factor + term;
  for (int c = 0; c < CHAINS; c++) total += chain[c];
  float sum = 0;
  for (int l = 0; l < WIDTH; l++) sum += total[l];
  return sum;
}
