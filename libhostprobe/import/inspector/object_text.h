// object_text.h: the objects of a text of JSON, one behind the other, on a line each or on many.
//
// Room 3. What is between them is passed over, so that a damaged one costs itself: the next begins at the next line that begins with a
// bracket.
#pragma once

#include <string>

#include "import/input/text_file.h"

namespace hostprobe::analysis {

class ObjectText {
 public:
  ObjectText(const std::string& path, const ReadProgress& progress) : file_(path, progress) {}

  // False: there is none any more. `begin`: the byte of the text where it begins.
  bool next(std::string& object, std::uint64_t& begin);
  const std::string& problem() const { return file_.problem(); }
  std::uint64_t taken() const { return file_.taken(); }

 private:
  static constexpr std::size_t kLongest = 1 << 24;

  TextFile file_;
  std::string line_;
  std::uint64_t line_begin_ = 0;
  bool has_line_ = false;
};

}  // namespace hostprobe::analysis
