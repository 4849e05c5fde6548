// text_window.h: a stretch of a text file in one piece, which moves on through it and becomes as long as is needed.
//
// Room 3. What looks for an end that may be anywhere needs more than a byte at a time, and less than the file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text_file.h"

namespace hostprobe::analysis {

class TextWindow {
 public:
  explicit TextWindow(TextFile& file) : file_(file) {}

  std::string_view text() const { return std::string_view(held_).substr(begin_); }
  std::uint64_t at() const { return at_; }  // byte of the whole text where it begins
  bool is_all() const { return is_all_; }   // nothing is behind it
  void grow();                              // to twice its length, or to the end of the text
  void drop(std::size_t bytes);             // of its begin

 private:
  TextFile& file_;
  std::string held_;
  std::size_t begin_ = 0;
  std::uint64_t at_ = 0;
  bool is_all_ = false;
};

}  // namespace hostprobe::analysis
