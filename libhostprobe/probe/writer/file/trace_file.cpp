// trace_file.cpp: see trace_file.h; the layout is drawn in format/file.h.
#include "probe/writer/file/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/simulated_host.h"

namespace hostprobe::probe {

HP_OF_PROCESS constinit TraceFile g_file{-1, 0, 0, false, {}};
HP_OF_PROCESS constinit FileHeader g_header{};

namespace {

constexpr int kMostParts = 6;
HP_OF_PROCESS struct stat g_root;   // when the file was made
HP_OF_PROCESS struct statx g_made;  // the file itself: another that has got its name is not written to

// The checksum of format/file.h, over any number of parts.
std::uint64_t checksum(std::uint64_t h, const void* bytes, std::size_t length) {
  const char* at = static_cast<const char*>(bytes);
  for (std::size_t i = 0; i + 8 <= length; i += 8) {
    std::uint64_t word;
    memcpy(&word, at + i, 8);
    h ^= word;
    h = (h << 27 | h >> 37) * 0x100000001b3u;
  }
  return h;
}
constexpr std::uint64_t kChecksumStart = 0x9e3779b97f4a7c15u;

bool make_folders(const char* path) {
  char part[1024];
  size_t length = strlen(path);
  if (length >= sizeof part) {
    errno = ENAMETOOLONG;
    return false;
  }
  for (size_t i = 1; i <= length; ++i) {
    if (path[i] != '/' && path[i] != 0) continue;
    memcpy(part, path, i);
    part[i] = 0;
    if (mkdir(part, 0777) != 0 && errno != EEXIST) {
      struct stat s;
      if (stat(part, &s) != 0 || !S_ISDIR(s.st_mode)) return false;
    }
  }
  return true;
}

bool allowed(std::uint64_t end) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || end <= limit.rlim_cur) return true;
  errno = EFBIG;
  return false;
}

HP_OF_PROCESS std::uint64_t g_writing_ns = 0;
struct WritingTime {
  std::uint64_t begin_ns = read_clock_ns(CLOCK_MONOTONIC);
  ~WritingTime() { g_writing_ns += read_clock_ns(CLOCK_MONOTONIC) - begin_ns; }
};

// Writes all parts at `offset`, in as many calls as it takes.
bool write_at(std::uint64_t offset, iovec* parts, int count, std::size_t whole) {
  if (!allowed(offset + whole)) return false;
  const WritingTime time;
  while (count > 0) {
    ssize_t written = pwritev(g_file.fd, parts, count, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      if (written == 0) errno = ENOSPC;
      return false;
    }
    offset += static_cast<std::uint64_t>(written);
    auto left = static_cast<std::size_t>(written);
    while (count > 0 && left >= parts->iov_len) {
      left -= parts->iov_len;
      ++parts;
      --count;
    }
    if (count > 0) {
      parts->iov_base = static_cast<char*>(parts->iov_base) + left;
      parts->iov_len -= left;
    }
  }
  return true;
}

bool look_at(int folder, const char* path, int flags, struct statx& found) {
  return statx(folder, path, flags, STATX_BASIC_STATS | STATX_BTIME, &found) == 0;
}

// The number of a removed file may be given to the next one, which was born later.
bool is_the_file(const struct statx& found) {
  return S_ISREG(found.stx_mode) && found.stx_ino == g_made.stx_ino && found.stx_dev_major == g_made.stx_dev_major &&
         found.stx_dev_minor == g_made.stx_dev_minor && found.stx_btime.tv_sec == g_made.stx_btime.tv_sec &&
         found.stx_btime.tv_nsec == g_made.stx_btime.tv_nsec;
}

// Not all file systems know that time: a file that has a second name is not trusted either.
bool may_be_written(const struct statx& found) { return is_the_file(found) && found.stx_nlink == 1; }

bool note_failure() {
  if (g_file.error == 0) g_file.error = errno;
  g_header.file_errno = g_file.error;
  return false;
}

}  // namespace

// Whatever the umask leaves of it.
static int make_file(const char* folder) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int fd = open(g_file.path, kFlags, 0600);
  if (fd < 0 && errno == ENOENT && make_folders(folder)) fd = open(g_file.path, kFlags, 0600);
  if (fd >= 0) fchmod(fd, 0600);
  return fd;
}

bool create_file(const char* folder, std::uint64_t start_ns) {
  utsname host{};
  uname(&host);
  if (simulated_host() >= 0)
    snprintf(g_header.host, sizeof g_header.host, "%.48s-sim%d", host.nodename, simulated_host());
  else
    memcpy(g_header.host, host.nodename, strnlen(host.nodename, sizeof g_header.host - 1));
  int used = snprintf(g_file.path, sizeof g_file.path, "%s/%.64s-%d-%llu%s", folder, g_header.host,
                      static_cast<int>(getpid()), static_cast<unsigned long long>(start_ns), kFileSuffix);
  if (used < 0 || used >= static_cast<int>(sizeof g_file.path)) {
    errno = ENAMETOOLONG;
    return false;
  }
  g_file.fd = make_file(folder);
  g_made = {};
  if (g_file.fd >= 0) look_at(g_file.fd, "", AT_EMPTY_PATH, g_made);
  stat("/", &g_root);
  g_file.bytes = kFileHeaderBytes;
  g_file.error = 0;
  return g_file.fd >= 0;
}

bool file_was_removed() {
  struct statx file;
  if (look_at(AT_FDCWD, g_file.path, AT_SYMLINK_NOFOLLOW, file)) return !is_the_file(file);
  struct stat root;
  if (errno != ENOENT || stat("/", &root) != 0) return false;
  return root.st_dev == g_root.st_dev && root.st_ino == g_root.st_ino;
}

bool is_trace_file(int fd) {
  struct statx file;
  return look_at(fd, "", AT_EMPTY_PATH, file) && may_be_written(file);
}

// It is looked at before it is opened, because opening a pipe or a device is felt by others, and afterwards, because it may
// be replaced in between.
int open_by_path() {
  struct statx file;
  if (!look_at(AT_FDCWD, g_file.path, AT_SYMLINK_NOFOLLOW, file)) return -1;
  int fd = -1;
  if (may_be_written(file)) fd = open(g_file.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && may_be_written(file)) return -1;
  if (fd >= 0 && is_trace_file(fd)) return fd;
  if (fd >= 0) close(fd);
  errno = ESTALE;
  return -1;
}

bool open_file() {
  g_file.fd = open_by_path();
  return g_file.fd >= 0 || note_failure();
}

void close_file() {
  if (g_file.fd >= 0) close(g_file.fd);
  g_file.fd = -1;
}

std::uint64_t writing_ns() { return g_writing_ns; }

bool append_block(BlockKind kind, const iovec* parts, int count) {
  if (g_file.fd < 0 || count > kMostParts) return false;
  BlockHead head{kBlockMagic, kind, 0, 0, kChecksumStart, 0};
  iovec all[kMostParts + 1];
  all[0] = {&head, sizeof head};
  for (int i = 0; i < count; ++i) {
    all[i + 1] = parts[i];
    head.payload_bytes += parts[i].iov_len;
    head.checksum = checksum(head.checksum, parts[i].iov_base, parts[i].iov_len);
  }
  head.head_checksum = checksum(kChecksumStart, &head, offsetof(BlockHead, head_checksum));
  std::size_t whole = sizeof head + head.payload_bytes;
  if (!write_at(g_file.bytes, all, count + 1, whole)) return note_failure();
  g_file.bytes += whole;
  return true;
}

bool write_header() {
  if (g_file.fd < 0) return false;
  alignas(8) char page[kFileHeaderBytes] = {};
  g_header.data_bytes = g_file.bytes;
  g_header.checksum = 0;
  memcpy(page, &g_header, sizeof g_header);
  g_header.checksum = checksum(kChecksumStart, page, sizeof page);
  memcpy(page, &g_header, sizeof g_header);
  iovec part{page, sizeof page};
  return write_at(0, &part, 1, sizeof page) || note_failure();
}

}  // namespace hostprobe::probe
