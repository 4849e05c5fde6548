// exceeds_its_limit handled|killed: has a limit on file size, waits a lot, and then writes past that limit itself: it
// must meet SIGXFSZ exactly once and by its own doing.
#include <sys/resource.h>

#include "victim.h"

static volatile sig_atomic_t g_signals;
static void count(int) { g_signals = g_signals + 1; }

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const rlimit limit = {8192, 8192};
  setrlimit(RLIMIT_FSIZE, &limit);
  if (strcmp(argv[1], "handled") == 0) signal(SIGXFSZ, count);
  for (int i = 0; i < 20; ++i) {
    wait_moments(100);
    usleep(5000);
  }
  printf("%d signals before\n", static_cast<int>(g_signals));
  fflush(stdout);
  const int fd = open("own-file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  char block[4096] = "";
  for (int i = 0; i < 3; ++i) {
    const ssize_t written = write(fd, block, sizeof block);
    printf("write: %zd, errno %d\n", written, written < 0 ? errno : 0);
  }
  printf("%d signals after\n", static_cast<int>(g_signals));
}
