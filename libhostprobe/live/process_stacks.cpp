// process_stacks.cpp: see process_stacks.h.
#include "process_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "answer/file_name.h"
#include "limited_sleep.h"
#include "memory_map.h"
#include "native_stack.h"
#include "open_trace.h"
#include "own_thread.h"
#include "ptrace_thread.h"
#include "python_process.h"
#include "trace/liveness.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

namespace fs = std::filesystem;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string command_of(pid_t pid) {
  std::string text = text_of(fmt::format("/proc/{}/cmdline", pid));
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

// Roles and waits of a process that records.
class Recorded {
 public:
  explicit Recorded(Trace trace) : trace_(std::move(trace)) {
    for (const auto& [key, thread] : trace_.threads)
      if (thread.entry.end_ticks == 0) living_[key.tid] = &thread;
  }
  const FileHeader& header() const { return trace_.header; }

  void describe(ThreadStack& thread, Symbols& symbols) const {
    const auto found = living_.find(thread.tid);
    if (found == living_.end()) return;
    thread.role = role_of(trace_, *found->second, symbols);
    const OpenWait& open = found->second->entry.open;
    const Hook* hook = trace_.hook_of(sum_hook(open.key));
    if (hook == nullptr) return;
    const Module* module = trace_.module_at(sum_site(open.key));
    const double since_ns = now_ns() - static_cast<double>(trace_.clock.monotonic_ns(open.begin_ticks));
    thread.wait = {hook->name, module == nullptr ? "unknown" : base_name(module->path), std::max(0.0, since_ns * 1e-9)};
  }

 private:
  Trace trace_;
  std::map<std::uint32_t, const Thread*> living_;
};

// By its name only: nobody saw it being made.
Role role_by_name(pid_t pid, const ThreadStack& stack) {
  Trace trace;
  trace.header.pid = static_cast<std::uint32_t>(pid);
  Thread thread;
  thread.key.tid = stack.tid;
  thread.name = stack.name;
  Symbols symbols;
  return role_of(trace, thread, symbols);
}

bool is_system(const std::string& library) {
  return library.starts_with("libc.so") || library.starts_with("libpthread") || library.starts_with("ld-linux") ||
         library == "[vdso]" || library == "libhostprobe.so";
}

// From the innermost frame that is not libc's: the call by which its library was entered, or the function itself where it
// is the program's own or the interpreter's.
std::string call_of(const std::vector<CodePlace>& places, const ThreadStack& stack, const std::string& program) {
  std::size_t at = 0;
  while (at < places.size() && is_system(places[at].library)) ++at;
  if (at == places.size()) {
    for (const CodePlace& place : places)
      if (!place.function.empty()) return place.caller_text();
    return "";
  }
  const std::string library = places[at].library;
  const bool is_python = library.find("python") != std::string::npos;
  if (is_python && !stack.python.empty()) return stack.python.front();
  std::string call = places[at].caller_text();
  if (is_python || library == program) return call;
  for (; at < places.size() && places[at].library == library; ++at)
    if (!places[at].function.empty()) call = places[at].caller_text();
  return call;
}

// What of a thread may change when it goes on.
struct ThreadCopy {
  ThreadStack stack;
  StackCopy native;
  std::vector<PythonFrameCopy> python;
};

// All threads are copied first, one after the other, and named afterwards, when none of them waits for it.
class ProcessVisit {
 public:
  explicit ProcessVisit(pid_t pid) : pid_(pid), memory_(pid), walk_(pid) {
    python_ = PythonProcess::find(pid, modules_of_process(pid));
    std::error_code gone;
    program_ = fs::read_symlink(fmt::format("/proc/{}/exe", pid), gone).filename();
  }

  std::vector<ThreadStack> stacks() {
    if (python_) python_->look_for_threads();
    std::vector<ThreadCopy> copies;
    for (const pid_t tid : threads_of(pid_)) copies.push_back(copy_of(tid));
    copy_new_threads(copies);
    code_.modules = modules_of_process(pid_);
    std::vector<ThreadStack> stacks;
    for (ThreadCopy& copy : copies) {
      name_frames(copy);
      stacks.push_back(std::move(copy.stack));
    }
    return stacks;
  }

  Symbols& symbols() { return symbols_; }

 private:
  ThreadCopy copy_of(pid_t tid) {
    ThreadCopy copy;
    ThreadStack& stack = copy.stack;
    stack.tid = static_cast<std::uint32_t>(tid);
    const std::string folder = fmt::format("/proc/{}/task/{}/", pid_, tid);
    stack.name = text_of(folder + "comm");
    if (!stack.name.empty()) stack.name.pop_back();
    const std::string status = text_of(folder + "stat");
    if (const auto end = status.rfind(')'); end != std::string::npos && end + 2 < status.size())
      stack.state = status[end + 2];
    copy_frames(tid, copy);
    return copy;
  }

  // The interpreter may have made threads since they were looked for. Once for all: a process has many that never run Python.
  void copy_new_threads(std::vector<ThreadCopy>& copies) {
    const auto is_unknown = [this](const ThreadCopy& copy) {
      return copy.stack.unread.empty() && !python_->knows(thread_pointer_in(copy.native.registers)) &&
             python_->thread_pointer_of(copy.stack.tid) == 0;
    };
    if (!python_ || std::none_of(copies.begin(), copies.end(), is_unknown)) return;
    std::vector<bool> unknown;
    for (const ThreadCopy& copy : copies) unknown.push_back(is_unknown(copy));
    python_->look_for_threads();
    for (std::size_t i = 0; i < copies.size(); ++i)
      if (unknown[i] && !is_unknown(copies[i])) copy_frames(static_cast<pid_t>(copies[i].stack.tid), copies[i]);
  }

  void copy_frames(pid_t tid, ThreadCopy& copy) {
    constexpr int kTries = 3;
    for (int i = 0; i < kTries; ++i)
      if (const std::optional<LimitedSleep> sleep = limited_sleep_of(pid_, tid); !sleep)
        break;
      else if (copy_asleep(tid, *sleep, copy))
        return;
    if (!kCallsBeginAgain && limited_sleep_of(pid_, tid))
      copy.stack.unread = "it sleeps in a system call that would fail if the thread were stopped";
    else
      copy_stopped(tid, copy);
  }

  // False: it woke up meanwhile, or its frames cannot be found without registers that only a stop shows.
  bool copy_asleep(pid_t tid, const LimitedSleep& sleep, ThreadCopy& copy) {
    copy.native.take(memory_, sleep.registers());
    copy.native.has_all_registers = false;
    if (python_) copy.python = python_->copy_frames(python_->thread_pointer_of(static_cast<std::uint32_t>(tid)));
    if (limited_sleep_of(pid_, tid) != sleep) return false;
    walk_.frames(copy.native);
    return !walk_.lacked_register();
  }

  void copy_stopped(pid_t tid, ThreadCopy& copy) {
    const PtraceThread stopped(pid_, tid);
    if (!stopped.stopped()) {
      const bool there = fs::exists(fmt::format("/proc/{}/task/{}", pid_, tid));
      copy.stack.unread = there ? "it does not stop: it sleeps inside the kernel" : "it has ended";
      return;
    }
    copy.native.take(memory_, stopped.registers());
    copy.native.has_all_registers = true;
    if (!python_) return;
    const std::uint64_t pointer = thread_pointer_in(stopped.registers());
    copy.python =
        python_->copy_frames(pointer != 0 ? pointer : python_->thread_pointer_of(static_cast<std::uint32_t>(tid)));
  }

  void name_frames(ThreadCopy& copy) {
    ThreadStack& stack = copy.stack;
    if (!stack.unread.empty()) return;
    for (const PythonFrameCopy& frame : copy.python)
      if (std::string text = python_->text(frame); !text.empty()) stack.python.push_back(std::move(text));
    std::vector<CodePlace> places;
    for (const NativeFrame& frame : walk_.frames(copy.native)) {
      places.push_back(symbols_.place(code_, frame.address, frame.is_return_address));
      stack.native.push_back(places.back().text());
    }
    stack.call = call_of(places, stack, program_);
  }

  pid_t pid_;
  ProcessMemory memory_;
  NativeWalk walk_;
  Trace code_;  // only its modules
  Symbols symbols_;
  std::optional<PythonProcess> python_;
  std::string program_;
};

std::optional<Recorded> recorded(const std::string& path, ProcessStacks& process) {
  if (path.empty()) {
    process.unread = "hostprobe does not record it: no waits, and roles by the threads' names";
    return std::nullopt;
  }
  try {
    return Recorded(read_trace(path));
  } catch (const std::exception& error) {
    process.unread = fmt::format("no waits: {}", error.what());
    return std::nullopt;
  }
}

ProcessStacks visit(pid_t pid, const std::string& trace_path) {
  ProcessStacks process;
  process.pid = pid;
  process.command = command_of(pid);
  ProcessVisit visit(pid);
  process.threads = visit.stacks();
  if (process.threads.empty()) throw std::runtime_error(fmt::format("process {} has ended", pid));
  const std::optional<Recorded> trace = recorded(trace_path, process);
  process.recorded = trace.has_value();
  if (trace && trace->header().rank >= 0) process.rank = trace->header().rank;
  for (ThreadStack& thread : process.threads) {
    thread.role = role_by_name(pid, thread);
    if (trace) trace->describe(thread, visit.symbols());
  }
  return process;
}

std::vector<SharedCall> shared_calls(const std::vector<ProcessStacks>& processes) {
  std::map<std::pair<Role, std::string>, SharedCall> all;
  for (const ProcessStacks& process : processes)
    for (const ThreadStack& thread : process.threads) {
      if (thread.call.empty()) continue;
      SharedCall& shared = all[{thread.role, thread.call}];
      shared.call = thread.call;
      shared.role = thread.role;
      shared.threads.push_back(
          {process.pid, process.rank, thread.tid, thread.wait ? std::optional(thread.wait->since_s) : std::nullopt});
    }
  std::vector<std::pair<std::size_t, SharedCall>> counted;
  for (auto& [key, shared] : all) {
    std::set<pid_t> pids;
    for (const ThreadInCall& thread : shared.threads) pids.insert(thread.pid);
    if (pids.size() > 1) counted.emplace_back(pids.size(), std::move(shared));
  }
  std::stable_sort(counted.begin(), counted.end(), [](const auto& l, const auto& r) { return l.first > r.first; });
  std::vector<SharedCall> result;
  for (auto& [count, shared] : counted) result.push_back(std::move(shared));
  return result;
}

}  // namespace

StacksAnswer stacks_of_process(pid_t pid) {
  if (!fs::exists(fmt::format("/proc/{}", pid)))
    throw std::runtime_error(fmt::format("there is no process {}; it may have ended", pid));
  StacksAnswer answer;
  answer.processes.push_back(visit(pid, open_trace_of(pid)));
  return answer;
}

std::optional<pid_t> living_process_of(const std::string& trace_path) {
  try {
    const Trace trace = read_trace_file_only(trace_path);
    if (process_liveness(trace.header) == Liveness::kLives) return static_cast<pid_t>(trace.header.pid);
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

StacksAnswer stacks_of_run(const ChosenJob& run) {
  StacksAnswer answer;
  std::size_t traces = 0;
  for (const std::string& path : run.traces) {
    ++traces;
    const std::optional<pid_t> pid = living_process_of(path);
    if (!pid) {
      ++answer.ended;
      continue;
    }
    try {
      answer.processes.push_back(visit(*pid, path));
    } catch (const TraceForbidden&) {
      throw;  // what forbids one forbids the others
    } catch (const std::exception&) {
      ++answer.ended;  // meanwhile
    }
  }
  if (answer.processes.empty())
    throw std::runtime_error(traces == 0 ? fmt::format("{} holds no trace", run.words())
                                         : fmt::format("no process of {} lives on this machine", run.words()));
  std::stable_sort(answer.processes.begin(), answer.processes.end(), [](const auto& l, const auto& r) {
    return std::pair(l.rank.value_or(INT32_MAX), l.pid) < std::pair(r.rank.value_or(INT32_MAX), r.pid);
  });
  answer.shared = shared_calls(answer.processes);
  return answer;
}

}  // namespace hostprobe::analysis
