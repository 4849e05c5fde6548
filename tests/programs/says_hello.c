// says_hello: a program that is also built against musl, which can load nothing of glibc's.
#include <stdio.h>

int main(void) {
  puts("hello");
  return 5;
}
