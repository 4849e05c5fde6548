/* A library whose symbols are known: analysis_symbols.cpp and analysis_waits.cpp look addresses up in it. Built with
 * Python's name, because only a Python library can hold the interpreter lock. */
#include <stddef.h>

__attribute__((noinline)) static size_t hidden_sum(const unsigned char* bytes, size_t count) {
  size_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum = sum * 31 + bytes[i];
  return sum;
}

__attribute__((noinline)) size_t sample_sum(const unsigned char* bytes, size_t count) {
  return hidden_sum(bytes, count) + 1;
}

__attribute__((noinline)) size_t PyEval_RestoreThread(const unsigned char* bytes, size_t count) {
  return hidden_sum(bytes, count) + 2;
}
