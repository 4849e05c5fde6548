// mapped_file.cpp: see mapped_file.h.
#include "mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace hostprobe::analysis {

MappedFile::MappedFile(const std::string& path) {
  // Without O_NONBLOCK a pipe that carries our suffix would hang the report.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "cannot open it");
  struct stat status {};
  int error = fstat(file, &status) != 0 ? errno : 0;
  if (error == 0 && !S_ISREG(status.st_mode)) error = EINVAL;
  void* mapping = nullptr;
  if (error == 0 && status.st_size > 0) {
    mapping = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) error = errno;
  }
  close(file);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot map it");
  bytes_ = static_cast<const std::byte*>(mapping);
  size_ = static_cast<std::size_t>(status.st_size);
}

void MappedFile::release() const {
  if (size_ > 0) madvise(const_cast<std::byte*>(bytes_), size_, MADV_DONTNEED);
}

void MappedFile::release(const std::byte* bytes, std::size_t count) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(bytes);
  const std::uintptr_t begin = at / page * page, end = (at + count) / page * page;
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (size_ > 0) munmap(const_cast<std::byte*>(bytes_), size_);
}

}  // namespace hostprobe::analysis
