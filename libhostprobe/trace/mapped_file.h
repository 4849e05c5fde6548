// mapped_file.h: a trace file, mapped read-only, so that a reader of 10 million records needs no memory of its own.
//
// Room 3. Owned by a Trace; every pointer into the file ends with it.
#pragma once

#include <cstddef>
#include <string>

namespace hostprobe::analysis {

class MappedFile {
 public:
  // Throws std::system_error when the file cannot be opened or mapped, or is not a regular file. An empty one maps to
  // size 0.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  // Whoever looks at it again reads it from the file again: what was read is not this process's memory any more.
  void release() const;
  // The same of a part: of the pages in which its bytes begin or lie, all but the last, which the next part may be in.
  static void release(const std::byte* bytes, std::size_t count);

 private:
  const std::byte* bytes_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace hostprobe::analysis
