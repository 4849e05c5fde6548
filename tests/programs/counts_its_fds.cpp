// counts_its_fds: opens a few files between waits and prints the numbers it gets: programs rely on "the lowest free".
#include "victim.h"

int main() {
  wait_moments(100);
  for (int i = 0; i < 5; ++i) {
    printf("%d\n", open("/dev/null", O_RDONLY | O_CLOEXEC));
    wait_moments(100);
    usleep(5000);
  }
}
