// watched_run.cpp: see watched_run.h.
#include "watched_run.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "live/control_link.h"
#include "live/open_trace.h"
#include "live/process_segment.h"
#include "rank_history.h"
#include "trace/blocks.h"
#include "trace/jobs.h"
#include "trace/liveness.h"

namespace hostprobe::analysis {
namespace {

// The hook table is at the beginning of the file; nothing else of it is read.
std::vector<std::string> read_hook_names(const std::string& path) {
  std::vector<std::string> names;
  try {
    const MappedFile file(path);
    Trace trace;
    BlockWalk walk(file, kFileHeaderBytes);
    BlockContent content(trace);
    Block block;
    while (trace.hooks.empty() && walk.next(block))
      if (block.kind == kBlockHooks) content.add(block);
    for (const Hook& hook : trace.hooks) names.push_back(hook.name);
  } catch (const std::exception&) {
    // Without names a call is only "a call".
  }
  return names;
}

std::string state_text(char state) {
  switch (state) {
    case 'R':
      return "runs";
    case 'S':
      return "sleeps";
    case 'D':
      return "waits for a disk";
    case 'T':
    case 't':
      return "is stopped";
    default:
      return "";
  }
}

std::uint64_t changed_ns(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_mtim.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(status.st_mtim.tv_nsec);
}

[[noreturn]] void fail_without_trace(pid_t pid) {
  if (process_state(pid) == 0) throw std::runtime_error(fmt::format("there is no process {}; it may have ended", pid));
  const FoundSegment found = find_segment(pid, false);
  if (found.denied || (kill(pid, 0) != 0 && errno == EPERM))
    throw std::runtime_error(
        fmt::format("permission denied: process {} belongs to another user; look as that user or as root", pid));
  throw NotRecorded(fmt::format("process {} does not record", pid));
}

}  // namespace

struct WatchedRun::Process {
  Process(std::string trace_path, const FileHeader& head)
      : path(std::move(trace_path)), header(head), history(head), segment(head) {}

  void read();
  LiveRank rank() const;
  std::string hook_name(std::uint16_t number) const;

  std::string path;
  FileHeader header;
  RankHistory history;
  SegmentReader segment;
  EndState state = EndState::kRunning;
  char main_state = 0;
  mutable std::vector<std::string> hooks;
};

void WatchedRun::Process::read() {
  if (state != EndState::kRunning) return;
  if (const auto head = head_of(path)) header = *head;
  if (header.state != kFileOpen) {
    state = header.state == kFileClosed ? EndState::kEnded : EndState::kRecovered;
  } else if (process_liveness(header) == Liveness::kDead) {
    state = EndState::kUnseen;
  }
  if (state != EndState::kRunning) return;
  main_state = process_state(static_cast<int>(header.pid));
  if (auto reading = segment.read()) history.add(std::move(*reading), header);
}

std::string WatchedRun::Process::hook_name(std::uint16_t number) const {
  if (number > hooks.size()) hooks = read_hook_names(path);
  return number == 0 || number > hooks.size() ? "a call" : hooks[number - 1u];
}

LiveRank WatchedRun::Process::rank() const {
  LiveRank rank = history.rank([this](std::uint16_t number) { return hook_name(number); });
  rank.state = state;
  if (state == EndState::kRunning) {
    rank.thread_state = state_text(main_state);
    return rank;
  }
  rank.in.reset();
  rank.threads.clear();
  rank.cpu_pct = rank.ready_pct = rank.throttled_pct = rank.own_cost_pct = std::nullopt;
  return rank;
}

std::vector<RunFile> rank_files(std::vector<RunFile> files) {
  std::map<std::uint32_t, std::int32_t> rank_of;
  for (const RunFile& file : files) rank_of[file.header.pid] = file.header.rank;
  std::erase_if(files, [&](const RunFile& file) {
    const auto parent = rank_of.find(file.header.parent_pid);
    const bool has_parents_rank = parent != rank_of.end() && parent->second == file.header.rank;
    return file.header.forked_from != 0 || (file.header.rank >= 0 && has_parents_rank);
  });
  const auto is_rank = [](const RunFile& file) { return file.header.rank >= 0; };
  if (std::any_of(files.begin(), files.end(), is_rank)) std::erase_if(files, std::not_fn(is_rank));
  // The newest first; of what is no rank each process has its own.
  std::stable_sort(files.begin(), files.end(), [](const RunFile& l, const RunFile& r) {
    return l.header.first.monotonic_ns > r.header.first.monotonic_ns;
  });
  std::set<std::pair<bool, std::int64_t>> seen;
  std::erase_if(files, [&](const RunFile& file) {
    const bool ranked = file.header.rank >= 0;
    return !seen.emplace(ranked, ranked ? file.header.rank : std::int64_t{file.header.pid}).second;
  });
  std::sort(files.begin(), files.end(), [](const RunFile& l, const RunFile& r) {
    return std::tuple(l.header.rank, l.header.pid) < std::tuple(r.header.rank, r.header.pid);
  });
  return files;
}

std::string hang_text(const std::vector<LiveRank>& ranks, const std::string& stuck) {
  constexpr double kLeast_s = 5, kTimes = 10;
  const LiveRank* longest = nullptr;
  for (const LiveRank& rank : ranks) {
    if (rank.state != EndState::kRunning || !rank.steps) continue;
    if (rank.steps->since_s < std::max(kLeast_s, kTimes * 1e-3 * rank.steps->median_ms)) continue;
    if (longest == nullptr || rank.steps->since_s > longest->steps->since_s) longest = &rank;
  }
  if (longest == nullptr) return "";
  const std::string who =
      longest->rank ? fmt::format("rank {}", *longest->rank) : fmt::format("process {}", longest->pid);
  return fmt::format("no step for {:.0f} s on {}{}{}", longest->steps->since_s, who, stuck.empty() ? "" : "; ", stuck);
}

WatchedRun::WatchedRun(WatchTarget target) : target_(std::move(target)) {
  if (target_.run.empty() && open_trace_of(target_.pid).empty()) fail_without_trace(target_.pid);
  scan();
}

WatchedRun::~WatchedRun() = default;

std::string WatchedRun::path() const {
  return target_.run.empty() ? fmt::format("process {}", target_.pid) : target_.run;
}

std::vector<std::string> WatchedRun::find_traces() {
  if (!target_.run.empty()) return ChosenJob(target_.run, target_.job).traces;
  const std::string trace = open_trace_of(target_.pid);
  return trace.empty() ? traces_ : std::vector<std::string>{trace};
}

// A rank that ended may come back, and a launcher may start more of them.
bool WatchedRun::is_scan_due() const {
  constexpr std::uint64_t kPauseNs = 2'000'000'000;
  if (now_monotonic_ns() < scanned_ns_ + kPauseNs) return false;
  if (!target_.run.empty()) return changed_ns(target_.run) != folder_changed_ns_;
  return std::none_of(processes_.begin(), processes_.end(),
                      [](const auto& each) { return each.second->state == EndState::kRunning; });
}

void WatchedRun::scan() {
  scanned_ns_ = now_monotonic_ns();
  folder_changed_ns_ = target_.run.empty() ? 0 : changed_ns(target_.run);
  traces_ = find_traces();
  std::map<std::string, std::unique_ptr<Process>> found;
  elsewhere_ = 0;
  for (RunFile& file : rank_files(run_files(traces_))) {
    if (file.header.state == kFileOpen && process_liveness(file.header) == Liveness::kElsewhere) {
      ++elsewhere_;
      continue;
    }
    auto known = processes_.find(file.path);
    found[file.path] =
        known != processes_.end() ? std::move(known->second) : std::make_unique<Process>(file.path, file.header);
  }
  processes_ = std::move(found);
}

void WatchedRun::read() {
  if (is_scan_due()) scan();
  for (auto& [path, process] : processes_) process->read();
}

const WatchedRun::Process* WatchedRun::stepping() const {
  const Process* first = nullptr;
  for (const auto& [path, process] : processes_) {
    const bool steps = process->state == EndState::kRunning && !process->history.lengths_since(0).empty();
    if (steps && (first == nullptr || process->header.rank < first->header.rank)) first = process.get();
  }
  return first;
}

void WatchedRun::begin_trial(const std::string& fix, bool on) {
  constexpr std::size_t kMost = 31;
  trial_ = Trial{fix, on, now_monotonic_ns(), {}};
  if (const Process* process = stepping()) trial_->before_ms = process->history.lengths_since(0);
  if (trial_->before_ms.size() > kMost)
    trial_->before_ms.erase(trial_->before_ms.begin(), trial_->before_ms.end() - static_cast<std::ptrdiff_t>(kMost));
}

void WatchedRun::tell_trial(LiveView& view) const {
  if (!trial_) return;
  std::vector<double> since;
  if (const Process* process = stepping()) since = process->history.lengths_since(trial_->at_ns);
  view.trial = LiveTrial{.fix = trial_->fix,
                         .on = trial_->on,
                         .for_s = 1e-9 * static_cast<double>(now_monotonic_ns() - trial_->at_ns),
                         .before_ms = median_of(trial_->before_ms),
                         .before_steps = trial_->before_ms.size(),
                         .since_ms = median_of(since),
                         .since_steps = since.size()};
}

// The rank that decides knows most; it is the lowest, but may be gone, or not seen from here.
void WatchedRun::tell_auto(LiveView& view) const {
  std::int32_t decides = 0;
  for (const auto& [path, process] : processes_) {
    if (process->state != EndState::kRunning) continue;
    view.steps_are_off = view.steps_are_off || process->header.steps == kStepsOff;
    std::optional<LiveAuto> fix_auto = process->history.fix_auto();
    if (!fix_auto || (view.fix_auto && process->header.rank > decides)) continue;
    view.fix_auto = std::move(fix_auto);
    decides = process->header.rank;
  }
}

LiveView WatchedRun::view(const RecentCauses* causes, std::optional<double> causes_age_s) const {
  LiveView view{.path = path(), .elsewhere = elsewhere_};
  std::uint64_t began_ns = UINT64_MAX;
  for (const auto& [path, process] : processes_) {
    view.ranks.push_back(process->rank());
    began_ns = std::min(began_ns, process->header.start.monotonic_ns);
    if (!view.command.empty()) continue;
    view.command = std::string(process->header.command, strnlen(process->header.command, sizeof(FileHeader::command)));
    view.mode = std::string(process->header.mode, strnlen(process->header.mode, sizeof(FileHeader::mode)));
  }
  std::sort(view.ranks.begin(), view.ranks.end(), [](const LiveRank& l, const LiveRank& r) {
    return std::tuple(l.rank.value_or(-1), l.pid) < std::tuple(r.rank.value_or(-1), r.pid);
  });
  if (began_ns != UINT64_MAX) view.wall_s = 1e-9 * static_cast<double>(now_monotonic_ns() - began_ns);
  if (causes != nullptr) add_causes(*causes, causes_age_s, view);
  view.hang = hang_text(view.ranks, causes == nullptr ? "" : causes->stuck);
  tell_trial(view);
  tell_auto(view);
  return view;
}

}  // namespace hostprobe::analysis
