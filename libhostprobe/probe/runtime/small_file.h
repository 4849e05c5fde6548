// small_file.h: files of the kernel's that are read at once.
//
// Room 2 (probe/). Not on the hot path: three system calls.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace hostprobe::probe {

// Its first `bytes` - 1 bytes, NUL-terminated. False: it cannot be read, or is empty.
inline bool read_small_file(const char* path, char* out, std::size_t bytes) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t got = read(fd, out, bytes - 1);
  close(fd);
  if (got <= 0) return false;
  out[got] = 0;
  return true;
}

}  // namespace hostprobe::probe
