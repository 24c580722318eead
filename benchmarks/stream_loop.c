/* What a core can read and write, beside which benchmarks/goals.py puts the steps that are bound by memory. */
#include <stddef.h>

/* Each number of the array read and written `times` times. */
void stream(double *x, size_t n, int times) {
  for (int t = 0; t < times; t++) {
    for (size_t i = 0; i < n; i++) x[i] = x[i] * 0.5 + 1.0;
    __asm__ volatile("" ::"r"(x) : "memory");
  }
}
