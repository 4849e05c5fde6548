// unnamed_file.cpp: see unnamed_file.h.
#include "unnamed_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace hostprobe::analysis {
namespace {

// Some file systems, those of networks above all, cannot make a file without a name; there it loses its name at once.
int open_named(const char* folder) {
  std::array<char, 4096> path{};
  const int length = std::snprintf(path.data(), path.size(), "%s/hostprobe-XXXXXX", folder);
  if (length < 0 || static_cast<std::size_t>(length) >= path.size()) return errno = ENAMETOOLONG, -1;
  const int file = mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) unlink(path.data());
  return file;
}

int open_unnamed() {
  const char* folder = unnamed_file_folder();
  const int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  const bool knows_no_unnamed = file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);
  return knows_no_unnamed ? open_named(folder) : file;
}

}  // namespace

const char* unnamed_file_folder() {
  const char* told = std::getenv("TMPDIR");
  return told != nullptr && told[0] != '\0' ? told : "/var/tmp";
}

void* map_unnamed_file(std::size_t bytes) {
  const int file = open_unnamed();
  if (file < 0) return nullptr;
  // Without its room a write into the block would kill the process on a disk that is full.
  const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* block = error == 0 ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int why = error != 0 ? error : errno;
  close(file);
  errno = why;
  return block == MAP_FAILED ? nullptr : block;
}

void unmap_unnamed_file(void* block, std::size_t bytes) { munmap(block, bytes); }

}  // namespace hostprobe::analysis
