// object_text.cpp: see object_text.h.
#include "object_text.h"

namespace hostprobe::analysis {
namespace {

// Brackets that are open behind the line, of those that stand in no string.
int open_behind(std::string_view line, int open, bool& in_string) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (in_string && line[i] == '\\')
      ++i;
    else if (line[i] == '"')
      in_string = !in_string;
    else if (!in_string && line[i] == '{')
      ++open;
    else if (!in_string && line[i] == '}')
      --open;
  }
  return open;
}

}  // namespace

bool ObjectText::next(std::string& object, std::uint64_t& begin) {
  object.clear();
  int open = 0;
  bool in_string = false;
  while (true) {
    if (!has_line_) {
      line_begin_ = file_.taken();
      if (!file_.line(line_)) return !object.empty();
    }
    has_line_ = false;
    const bool is_begin = line_.starts_with('{');
    if (object.empty() && !is_begin) continue;
    // The one before was never closed.
    if (is_begin && !object.empty()) {
      has_line_ = true;
      return true;
    }
    if (object.empty()) begin = line_begin_;
    if (object.size() < kLongest) object += line_ + "\n";
    open = open_behind(line_, open, in_string);
    if (open <= 0) return true;
  }
}

}  // namespace hostprobe::analysis
