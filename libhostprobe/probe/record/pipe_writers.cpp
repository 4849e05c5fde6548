// pipe_writers.cpp: see pipe_writers.h.
#include "probe/record/pipe_writers.h"

#include <sys/stat.h>

namespace hostprobe::probe {

constinit std::atomic<std::uint64_t> g_written[kMostWritten]{};

namespace {

std::uint64_t post_between(unsigned number, std::uint64_t begin, std::uint64_t end) {
  const std::uint64_t post = g_written[number].load(std::memory_order_acquire);
  if (post == 0) return 0;
  const std::uint64_t at = post_ticks(post, end);
  return at >= begin && at <= end ? post : 0;
}

bool is_same(int descriptor, const struct stat& one) {
  struct stat other;
  return fstat(descriptor, &other) == 0 && other.st_ino == one.st_ino && other.st_dev == one.st_dev;
}

}  // namespace

std::uint64_t post_by_write(int descriptor, std::uint64_t begin, std::uint64_t end) {
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return 0;
  // Of what has no type only an eventfd is both read and written, by one number.
  if ((status.st_mode & S_IFMT) == 0)
    return static_cast<unsigned>(descriptor) < kMostWritten
               ? post_between(static_cast<unsigned>(descriptor), begin, end)
               : 0;
  if (!S_ISFIFO(status.st_mode)) return 0;
  for (unsigned number = 0; number < kMostWritten; ++number)
    if (const std::uint64_t post = post_between(number, begin, end);
        post != 0 && is_same(static_cast<int>(number), status))
      return post;
  return 0;
}

}  // namespace hostprobe::probe
