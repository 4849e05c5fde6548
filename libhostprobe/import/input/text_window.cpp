// text_window.cpp: see text_window.h.
#include "text_window.h"

#include <algorithm>

namespace hostprobe::analysis {

void TextWindow::grow() {
  held_.erase(0, begin_);
  begin_ = 0;
  const std::size_t wanted = 2 * std::max<std::size_t>(held_.size(), 1);
  while (held_.size() < wanted && !is_all_) {
    const std::string_view more = file_.rest();
    is_all_ = more.empty();
    held_ += more;
    file_.skip(more.size());
  }
}

void TextWindow::drop(std::size_t bytes) {
  begin_ += bytes;
  at_ += bytes;
}

}  // namespace hostprobe::analysis
