// waits_shortly COUNT: that many waits of a third of a millisecond.
#include "victim.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const timespec time = {0, 300000};
  int woken = 0;
  for (int i = atoi(argv[1]); i > 0; --i) woken += nanosleep(&time, nullptr) == 0;
  printf("%d\n", woken);
}
