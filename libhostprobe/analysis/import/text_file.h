// text_file.h: a text file, as it is or compressed by gzip, read from front to end through a small buffer.
//
// Room 3. Compressed data that ends too early reads as far as it goes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hostprobe::analysis {

// Told now and then how many bytes of a file were read.
using ReadProgress = std::function<void(std::uint64_t bytes)>;

class TextFile {
 public:
  // Throws std::system_error when it cannot be opened.
  explicit TextFile(const std::string& path, ReadProgress progress = {});
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  // '\0' at the end.
  char peek() { return at_ != end_ || fill() ? *at_ : '\0'; }
  char take() {
    if (at_ == end_ && !fill()) return '\0';
    ++taken_;
    return *at_++;
  }
  bool at_end() { return at_ == end_ && !fill(); }
  std::uint64_t taken() const { return taken_; }
  // Without its end, which may be "\r\n". False: there is none any more.
  bool line(std::string& text);
  // Why the end is not that of the whole file; "" when it is.
  const std::string& problem() const { return problem_; }

 private:
  bool fill();

  void* file_ = nullptr;
  std::vector<char> buffer_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t taken_ = 0;
  bool ended_ = false;
  std::string problem_;
  ReadProgress progress_;
};

}  // namespace hostprobe::analysis
