// gzip_file.h: the bytes of a file, expanded where gzip compressed them, from front to end.
//
// Room 3. What could be expanded before damage is given: zlib's own reader of files throws up to half a megabyte of it away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct z_stream_s;

namespace hostprobe::analysis {

class GzipFile {
 public:
  // Throws std::system_error when it cannot be opened.
  explicit GzipFile(const std::string& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  // As many bytes as there are, up to so many; 0 is the end.
  std::size_t read(char* to, std::size_t bytes);
  bool is_plain() const { return stream_ == nullptr; }     // not compressed
  std::uint64_t taken() const { return taken_ - left(); }  // bytes of the file
  // Why the end is not that of the whole file; "" when it is.
  const std::string& problem() const { return problem_; }

 private:
  std::size_t left() const { return held_.size() - at_; }
  bool fill(std::size_t least);  // false: the file has no more
  bool is_member();
  std::size_t copy(char* to, std::size_t bytes);
  std::size_t expand(char* to, std::size_t bytes);
  bool end(const std::string& problem);

  int file_ = -1;
  std::vector<unsigned char> held_;  // of the file, from at_ on not used yet
  std::size_t at_ = 0;
  std::uint64_t taken_ = 0;
  std::unique_ptr<z_stream_s> stream_;
  bool is_ended_ = false;
  std::string problem_;
};

}  // namespace hostprobe::analysis
