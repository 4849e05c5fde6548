// replaces_stderr closed|late: lives without the three standard descriptors (from its start, or from a moment after its
// first waits), puts files of its own on their numbers, waits, and tells what is in those files at the end: nothing.
#include <sys/stat.h>

#include "victim.h"

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (strcmp(argv[1], "late") == 0) {
    wait_moments(100);
    usleep(20000);
  }
  int numbers[3];
  for (int fd = 0; fd < 3; ++fd) close(fd);
  for (int& number : numbers) number = open("own-file", O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  for (int i = 0; i < 10; ++i) {
    wait_moments(100);
    usleep(10000);
  }
  struct stat about = {};
  fstat(numbers[0], &about);
  tell("numbers %d %d %d", numbers[0], numbers[1], numbers[2]);
  tell("bytes %ld", static_cast<long>(about.st_size));
  return 4;
}
