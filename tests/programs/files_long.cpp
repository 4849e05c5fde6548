// files_long: what opens, reads, writes and copies of files answer under each of their names, to good and bad arguments, also where they wait for
// the disk.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "victim.h"

namespace {

constexpr size_t kBytes = 1 << 20;
char g_data[kBytes];

void show(const char* what, long result) {
  const int error = errno;
  unsigned sum = 0;
  for (const char byte : g_data) sum = sum * 31 + static_cast<unsigned char>(byte);
  printf("%s: %ld, errno %d, data %u\n", what, result, error, sum);
  memset(g_data, 7, sizeof g_data);
  errno = 4711;
}

void vectors(int file) {
  const iovec parts[] = {{g_data, 100}, {g_data + 5000, kBytes - 5000}};
  show("preadv", preadv(file, parts, 2, 10));
  show("preadv64", preadv64(file, parts, 2, 10));
  show("preadv2", preadv2(file, parts, 2, 10, 0));
  show("preadv2, of its place", preadv2(file, parts, 2, -1, 0));
  show("preadv64v2", preadv64v2(file, parts, 2, 10, 0));
  show("preadv2, bad flags", preadv2(file, parts, 2, 10, 1 << 30));
  show("pwritev", pwritev(file, parts, 2, 0));
  show("pwritev64", pwritev64(file, parts, 2, 4096));
  // Few bytes: what a write of many may take without a record is more than a quick disk does.
  show("pwritev2, to the disk", pwritev2(file, parts, 1, 0, RWF_SYNC));
  show("pwritev64v2", pwritev64v2(file, parts, 2, 0, RWF_DSYNC));
  show("preadv, no file", preadv(-1, parts, 2, 0));
}

void copies(int file, int other) {
  off_t at = 100;
  show("sendfile", sendfile(other, file, &at, 100000));
  show("its place", at);
  off64_t from = 0, to = 4096;
  show("sendfile64", sendfile64(other, file, &from, 65536));
  show("copy_file_range", copy_file_range(file, &from, other, &to, 65536, 0));
  show("its place", to);
  show("copy_file_range, bad flags", copy_file_range(file, &from, other, &to, 1, 99));
  show("sendfile, no file", sendfile(other, -1, nullptr, 1));
}

// The fortified ones are what programs are linked to where the flags are no constant.
extern "C" {
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
}

void show_opened(const char* what, int file) {
  struct stat status {};
  const int known = fstat(file, &status);
  show(what, file < 0 ? file : 0);
  if (known != 0) return;
  printf("  mode %o, flags %x, close on exec %d\n", status.st_mode, fcntl(file, F_GETFL), fcntl(file, F_GETFD));
  close(file);
}

// `path` names a file that is there.
void opens(const char* path) {
  umask(0);
  char fresh[64];
  snprintf(fresh, sizeof fresh, "%s.new", path);
  show_opened("open", open(path, O_RDONLY));
  show_opened("open, made", open(fresh, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640));
  show_opened("open, made already", open(fresh, O_CREAT | O_EXCL | O_WRONLY, 0640));
  unlink(fresh);
  show_opened("open64, made", open64(fresh, O_CREAT | O_RDWR | O_APPEND, 0751));
  unlink(fresh);
  show_opened("openat, made", openat(AT_FDCWD, fresh, O_CREAT | O_RDWR, 0604));
  unlink(fresh);
  show_opened("openat64, made", openat64(AT_FDCWD, fresh, O_CREAT | O_RDWR, 0600));
  unlink(fresh);
  show_opened("open, without a name", open(".", O_TMPFILE | O_RDWR, 0620));
  show_opened("open, nothing", open(fresh, O_RDONLY));
  const char* volatile null = nullptr;
  show_opened("open, null", open(null, O_RDONLY));
  show_opened("open, empty", open64("", O_RDONLY));
  show_opened("open, a folder", open(".", O_RDONLY | O_DIRECTORY));
  show_opened("open, no folder", open(path, O_RDONLY | O_DIRECTORY));
  show_opened("openat, bad folder", openat(-5, path, O_RDONLY));
  show_opened("open, no file", open("/dev/null", O_RDWR));
  show_opened("__open_2", __open_2(path, O_RDONLY));
  show_opened("__open64_2", __open64_2(path, O_WRONLY));
  show_opened("__openat_2", __openat_2(AT_FDCWD, path, O_RDWR));
  show_opened("__openat64_2", __openat64_2(AT_FDCWD, fresh, O_RDWR));
}

}  // namespace

int main() {
  char path[] = "files_long.XXXXXX", second[] = "files_long.XXXXXX";
  const int file = mkstemp(path), other = mkstemp(second);
  if (file < 0 || other < 0) return 2;
  wait_moments(1);  // whatever follows is recorded
  for (size_t i = 0; i < kBytes; ++i) g_data[i] = static_cast<char>(i * 7);
  errno = 4711;
  opens(path);
  show("write", write(file, g_data, kBytes));
  show("fsync", fsync(file));
  vectors(file);
  copies(file, other);
  show("fdatasync", fdatasync(other));
  unlink(path);
  unlink(second);
  return 0;
}
