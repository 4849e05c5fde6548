// text_file.h: a text file, as it is or compressed by gzip, read from front to end through two small buffers: while the one is looked
// at, the other is filled.
//
// Room 3. Compressed data that ends too early reads as far as it goes. UTF-16 reads as UTF-8, and a mark in front of either is no text.
#pragma once

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gzip_file.h"
#include "text_encoding.h"

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
  char take() { return at_ != end_ || fill() ? *at_++ : '\0'; }
  bool at_end() { return at_ == end_ && !fill(); }
  std::uint64_t taken() const { return before_ + static_cast<std::uint64_t>(at_ - piece_.text.data()); }
  // Without its end, which may be "\r\n". False: there is none any more.
  bool line(std::string& text);
  // What of the text is at hand, at least a byte where there is one, and past some of it.
  std::string_view rest() {
    return at_end() ? std::string_view() : std::string_view(at_, static_cast<std::size_t>(end_ - at_));
  }
  void skip(std::size_t bytes) { at_ += bytes; }
  bool is_plain() const { return file_.is_plain(); }  // not compressed
  // Why the end is not that of the whole file; "" when it is.
  const std::string& problem() const { return problem_; }

 private:
  struct Piece {
    std::vector<char> text;
    std::string problem;     // behind it; "" = none, or there is more
    std::uint64_t read = 0;  // bytes of the file, so far
    bool is_full = false;    // what fits one buffer has no more behind it
  };
  bool fill();
  // Into a buffer that is used again. An empty piece is the end.
  Piece read(std::vector<char> buffer);
  void decode(std::vector<char>& text);

  GzipFile file_;
  Piece piece_;  // that is looked at
  std::future<Piece> next_;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::uint64_t before_ = 0;  // bytes of text before the piece
  bool ended_ = false;
  bool is_begun_ = false;           // of the reading thread, as the next
  std::optional<Utf16Text> utf16_;  // nothing: another encoding
  std::string problem_;
  ReadProgress progress_;
};

}  // namespace hostprobe::analysis
