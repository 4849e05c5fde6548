// moves_its_root chroot|chdir|umask|remove: after its first waits (chdir-first: before them) the program takes the ground
// from under relative paths, absolute paths, file modes, or the run folder itself.
#include <sys/stat.h>

#include <filesystem>

#include "victim.h"

static void move_ground(const char* way) {
  if (strcmp(way, "chroot") == 0) {
    mkdir("new-root", 0700);
    if (chroot("new-root") != 0 || chdir("/") != 0) printf("chroot failed\n");
  }
  if (strncmp(way, "chdir", 5) == 0 && chdir("/") != 0) printf("chdir failed\n");
  if (strcmp(way, "remove") == 0 && getenv("HOSTPROBE_OUT") != nullptr) {
    std::error_code ignored;
    std::filesystem::remove_all(getenv("HOSTPROBE_OUT"), ignored);
  }
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const bool at_first = strcmp(argv[1], "chdir-first") == 0;
  if (strcmp(argv[1], "umask-none") == 0) umask(0);
  if (strcmp(argv[1], "umask-all") == 0) umask(0777);
  if (at_first) move_ground(argv[1]);
  wait_moments(200);
  usleep(50000);
  if (!at_first) move_ground(argv[1]);
  for (int i = 0; i < 10; ++i) {
    wait_moments(200);
    usleep(10000);
  }
  const int fd = open("own-file", O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
  struct stat about = {};
  fstat(fd, &about);
  unlink("own-file");
  printf("own file %d, mode %o\n", fd, static_cast<unsigned>(about.st_mode & 07777));
}
