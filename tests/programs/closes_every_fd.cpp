// closes_every_fd closefrom|loop|range|dup2|daemon: waits, takes every descriptor away that it did not open itself, puts
// files of its own on all the numbers, waits on long enough for anything to be written, and looks at its files.
#include <sys/stat.h>

#include "victim.h"

static constexpr int kFiles = 40;
static const char kText[] = "what the program wrote itself\n";

static void close_all(const char* way) {
  if (strcmp(way, "closefrom") == 0) closefrom(3);
  if (strcmp(way, "range") == 0) close_range(3, ~0u, 0);
  if (strcmp(way, "loop") == 0)
    for (int fd = 3; fd < 1024; ++fd) close(fd);
  if (strcmp(way, "daemon") == 0)
    for (long fd = sysconf(_SC_OPEN_MAX) - 1; fd >= 3; --fd) close(static_cast<int>(fd));
}

static void cover_every_number() {
  const int fd = open("covers", O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (write(fd, kText, sizeof kText - 1) < 0) abort();
  for (int number = 3; number < 1024; ++number)
    if (number != fd) dup2(fd, number);
}

static void look_at(const char* name) {
  char text[256] = "";
  const int fd = open(name, O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) close(fd);
  if (got != static_cast<ssize_t>(sizeof kText - 1) || strcmp(text, kText) != 0)
    printf("%s holds %zd bytes: %.60s\n", name, got, text);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool covers = strcmp(argv[1], "dup2") == 0;
  wait_moments(300);
  close_all(argv[1]);
  int files[kFiles];
  char name[32];
  if (covers) cover_every_number();
  for (int i = 0; i < kFiles && !covers; ++i) {
    snprintf(name, sizeof name, "file-%d", i);
    files[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (write(files[i], kText, sizeof kText - 1) < 0) printf("write failed: %d\n", errno);
  }
  for (int i = 0; i < 30; ++i) {
    wait_moments(100);
    usleep(10000);
  }
  for (int i = 0; i < kFiles && !covers; ++i) {
    snprintf(name, sizeof name, "file-%d", i);
    look_at(name);
  }
  if (covers) {
    for (int number = 3; number < 1024; ++number) close(number);
    look_at("covers");
  }
  printf("looked at all files, first number %d\n", covers ? 3 : files[0]);
}
