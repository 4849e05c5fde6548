// finding_block.cpp: see finding_block.h.
#include "finding_block.h"

#include <fmt/format.h>

#include "report/columns.h"
#include "report/finding_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// On one line where it fits, the price to the right.
std::string heading(const Finding& finding, const FindingText& text, std::size_t number, std::size_t width) {
  std::string who = text.who == "the program" ? "" : " · " + text.who;
  // Of a cause on several ranks that thread is one example.
  const bool is_one_place = finding.rank.has_value() || finding.pid != 0;
  if (is_one_place && !text.thread.empty() && text.thread != role_name(Role::kMain))
    who += " · " + printable(text.thread);
  const std::string what = fmt::format("{:>2}  {}{}", number, text.title, who);
  const std::string price = text.gain.empty() ? text.cost : fmt::format("{} · gain {}", text.cost, text.gain);
  const std::size_t taken = columns(what) + columns(price);
  if (taken + 2 > width) return what + "\n" + wrapped(price, "    ", "    ", width);
  return what + std::string(width - taken, ' ') + price + "\n";
}

}  // namespace

std::string finding_block(const RunAnswer& run, const Finding& finding, std::size_t number, std::size_t width) {
  const FindingText text = finding_parts(run, finding);
  std::string out = heading(finding, text, number, width);
  out += wrapped(text.because.empty() ? text.detail : text.detail + " " + text.because, "    ", "    ", width);
  const std::string todo = text.limit.empty()  ? text.todo
                           : text.todo.empty() ? text.limit
                                               : text.todo + " " + text.limit;
  if (!todo.empty()) out += wrapped(todo, "    -> ", "       ", width);
  return out;
}

}  // namespace hostprobe::analysis
