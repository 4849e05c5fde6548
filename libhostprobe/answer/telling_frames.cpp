// telling_frames.cpp: see telling_frames.h.
#include "telling_frames.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "thread.h"

namespace hostprobe::analysis {
namespace {

// "train.py" of "step (train.py:9)"; "" of code that is not Python's.
std::string_view file_of_frame(std::string_view frame) {
  const std::size_t open = frame.rfind('('), colon = frame.rfind(':');
  if (open == std::string_view::npos || colon == std::string_view::npos || colon < open) return {};
  return frame.substr(open + 1, colon - open - 1);
}

}  // namespace

std::string telling_place(const std::vector<std::string>& stack) {
  static constexpr std::string_view kWays[] = {"threading.py",  "queue.py",      "queues.py", "synchronize.py",
                                               "selectors.py",  "connection.py", "socket.py", "subprocess.py",
                                               "dataloader.py", "reductions.py"};
  for (const std::string& frame : stack) {
    const std::string_view file = file_of_frame(frame);
    if (file.empty() || file.starts_with('<')) continue;
    if (std::find(std::begin(kWays), std::end(kWays), file) == std::end(kWays)) return frame;
  }
  return stack.empty() ? "" : stack.front();
}

std::string calling_place(const std::vector<std::string>& stack) {
  std::string_view program;
  for (const std::string& frame : stack)
    if (const std::string_view file = file_of_frame(frame); !file.empty() && !file.starts_with('<')) program = file;
  for (const std::string& frame : stack)
    if (!program.empty() && file_of_frame(frame) == program) return &frame == &stack.front() ? "" : frame;
  return {};
}

std::string program_frame(const std::vector<std::string>& stack) {
  const std::string caller = calling_place(stack);
  return caller.empty() && !stack.empty() ? stack.front() : caller;
}

std::string running_frame(const RunningRow& row) {
  if (!row.library.empty()) return row.function.empty() ? row.library : row.function + " (" + row.library + ")";
  if (row.file.empty()) return row.function;
  return row.function + " (" + row.file + (row.line == 0 ? "" : ":" + std::to_string(row.line)) + ")";
}

}  // namespace hostprobe::analysis
