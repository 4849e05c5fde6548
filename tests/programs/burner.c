/* libburner: a library in which a program may use its CPU time. */
#include "burner.h"

__attribute__((noinline)) unsigned burn_in_library(unsigned long rounds) {
  volatile unsigned sum = 1;
  for (unsigned long i = 0; i < rounds; ++i) sum = sum * 1664525u + 1013904223u;
  return sum;
}
