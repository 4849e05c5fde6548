// text_output.h: a file for a report that is too long to hold, compressed by gzip when its name ends in .gz.
//
// Room 3. It has its name once it is complete: what stood there before stays until then.
#pragma once

#include <string>
#include <string_view>

namespace hostprobe::analysis {

class TextOutput {
 public:
  // Throws std::system_error, here and later, when it cannot be written.
  explicit TextOutput(std::string path);
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  void write(std::string_view text);
  void finish();

 private:
  std::string path_;
  std::string unfinished_;  // "" = written in place: a pipe or device
  void* file_ = nullptr;
};

}  // namespace hostprobe::analysis
