// replaces_its_trace THING alone|thread|no_table: waits, puts something else where its own trace lies (nothing, where there
// is none), and waits on. `precious` in the working folder is what must not be written to.
#include <dirent.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "victim.h"

namespace {

const char kPrecious[] = "precious, and longer than nothing at all\n";

void make_precious() {
  const int fd = open("precious", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, kPrecious, strlen(kPrecious)) < 0) abort();
  close(fd);
}

void put(const char* thing, const char* path) {
  if (strcmp(thing, "second_name") == 0) {
    if (link(path, "precious") != 0) abort();
    return;
  }
  if (unlink(path) != 0) abort();
  make_precious();  // now, so that it may get the number of the file that has just gone
  if (strcmp(thing, "pipe") == 0 && mkfifo(path, 0600) != 0) abort();
  if (strcmp(thing, "hard_link") == 0 && link("precious", path) != 0) abort();
  if (strcmp(thing, "folder") == 0 && mkdir(path, 0700) != 0) abort();
  if (strcmp(thing, "device") == 0 && mknod(path, S_IFCHR | 0600, makedev(1, 7)) != 0 && errno != EPERM) abort();
  if (strcmp(thing, "file") == 0) {
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, kPrecious, strlen(kPrecious)) < 0) abort();
    close(fd);
  }
  char full[4096];
  if (strcmp(thing, "symbolic_link") == 0 && (realpath("precious", full) == nullptr || symlink(full, path) != 0))
    abort();
}

void replace(const char* thing) {
  const char* folder = getenv("HOSTPROBE_OUT");
  DIR* run = folder == nullptr ? nullptr : opendir(folder);
  if (run == nullptr) return;
  while (const dirent* entry = readdir(run)) {
    if (strstr(entry->d_name, ".hptrace") == nullptr) continue;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    tell("path %s", path);
    put(thing, path);
  }
  closedir(run);
}

// As on a kernel of before 5.9, where our thread cannot have a descriptor table of its own.
void lose_close_range() {
  sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {sizeof filter / sizeof *filter, filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // libc's function would end the recording.
  bare_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, reinterpret_cast<long>(&program));
}

void* wait_long(void*) {
  wait_moments(4);
  sem_t never;
  sem_init(&never, 0, 0);
  wait_a_moment(&never, 400000000);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  if (strcmp(argv[2], "no_table") == 0) lose_close_range();
  wait_moments(3);
  if (strcmp(argv[2], "alone") != 0) pthread_join(start(wait_long), nullptr);
  if (strcmp(argv[1], "second_name") != 0) make_precious();
  replace(argv[1]);
  wait_moments(3);
  if (strcmp(argv[2], "alone") != 0) pthread_join(start(wait_long), nullptr);
  puts("done");
  return 4;
}
