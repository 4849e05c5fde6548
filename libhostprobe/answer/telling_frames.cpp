// telling_frames.cpp: see telling_frames.h.
#include "telling_frames.h"

#include <algorithm>
#include <iterator>

#include "thread.h"

namespace hostprobe::analysis {

std::string_view file_of_frame(std::string_view frame) {
  const std::size_t open = frame.rfind('('), colon = frame.rfind(':');
  if (open == std::string_view::npos || colon == std::string_view::npos || colon < open) return {};
  return frame.substr(open + 1, colon - open - 1);
}

namespace {

// "run" of "Thread.run (threading.py:1012)".
std::string_view function_of_frame(std::string_view frame) {
  frame = frame.substr(0, frame.rfind(" ("));
  const std::size_t dot = frame.rfind('.');
  return dot == std::string_view::npos ? frame : frame.substr(dot + 1);
}

// How Python and PyTorch call what a thread or a process is to do. What stands outside of the first frame of a forked process was the
// parent's.
struct Entry {
  std::string_view function, file;
};
constexpr Entry kFirstOfProcess{"_bootstrap", "process.py"};
constexpr Entry kEntries[] = {
    kFirstOfProcess,
    {"run", "process.py"},
    {"_bootstrap", "threading.py"},
    {"_bootstrap_inner", "threading.py"},
    {"run", "threading.py"},
    {"_worker", "thread.py"},
    {"run", "thread.py"},
    {"_process_worker", "process.py"},
    {"_worker_loop", "worker.py"},
    {"fetch", "fetch.py"},
    {"<listcomp>", "fetch.py"},
};

bool is_entry(const std::string& frame, const Entry& entry) {
  return file_of_frame(frame) == entry.file && function_of_frame(frame) == entry.function;
}

// Without the frames outside of what this thread was given to do, unless there are no others.
std::vector<std::string> given_to_do(const std::vector<std::string>& stack) {
  auto end = std::find_if(stack.begin(), stack.end(), [](const auto& one) { return is_entry(one, kFirstOfProcess); });
  while (end != stack.begin() && std::any_of(std::begin(kEntries), std::end(kEntries),
                                             [&](const Entry& entry) { return is_entry(*std::prev(end), entry); }))
    --end;
  return end == stack.begin() ? stack : std::vector<std::string>(stack.begin(), end);
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

std::string calling_place(const std::vector<std::string>& whole) {
  const std::vector<std::string> stack = given_to_do(whole);
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
