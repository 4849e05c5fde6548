// losses.cpp: see losses.h.
#include "losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "answer/file_name.h"
#include "answer/process.h"
#include "answer/run.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostLosses = 8;
constexpr std::size_t kDamagesPerFile = 3;

std::string who(const ProcessAnswer& process) {
  const std::string pid = fmt::format("pid {}", process.pid);
  if (process.kind == ProcessKind::kRank) return fmt::format("Rank {} ({})", process.rank.value_or(0), pid);
  return (process.kind == ProcessKind::kWorker ? "Worker " : "Process ") + pid;
}

std::string percent_text(double percent) {
  return percent < 0.1 ? fmt::format("{:.1g}", percent) : fmt::format("{:.1f}", percent);
}

struct Reason {
  const char* id;
  const char* because;
};
// By LossCause.
constexpr Reason kReasons[] = {
    {"buffer_full", "the buffer was full: a larger HOSTPROBE_BUFFER_MB keeps more"},
    {"no_writer", "the buffer was full and the process had no thread of hostprobe's to empty it"},
    {"thread_table_full", "their threads found no place in the table: more lived at once than it holds"},
    {"jumped_out", "their calls were left by a jump out of a signal handler, or by the end of their thread"},
    {"in_handler", "they were made by a signal handler that had interrupted a record of the same thread"},
    {"another_process", "they were made by another process that shares the memory of this one"},
    {"sums_full", "they came from more call sites than there are counters for: HOSTPROBE_MODE=trace keeps them"},
};
constexpr std::size_t kReasonCount = sizeof kReasons / sizeof kReasons[0];

std::string lost_records(const ProcessAnswer& process) {
  const double all = static_cast<double>(process.records + process.lost);
  std::string text = fmt::format("{} lost {} of {} records ({} %)", who(process), grouped(process.lost),
                                 grouped(process.records + process.lost),
                                 percent_text(100.0 * static_cast<double>(process.lost) / all));
  const std::vector<LossShare> shares = loss_shares(process);
  if (shares.size() == 1) return fmt::format("{}: {}.", text, shares[0].because);
  for (const LossShare& share : shares) text += fmt::format("; {} of them: {}", grouped(share.records), share.because);
  return text + ".";
}

constexpr std::size_t kKindsShown = 3;

// The kinds with the most of them, and where the first of each stands.
std::string left_out(const ImportAnswer& imported) {
  if (imported.left_out.empty()) return {};
  std::vector<LeftOutAnswer> kinds = imported.left_out;
  std::stable_sort(kinds.begin(), kinds.end(), [](const auto& l, const auto& r) { return l.count > r.count; });
  std::string text = " Not used, or not in full: ";
  for (std::size_t i = 0; i < std::min(kinds.size(), kKindsShown); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : "; ", grouped(kinds[i].count), printable(kinds[i].kind));
    if (kinds[i].first_byte) text += fmt::format(" (the first at byte {})", grouped(*kinds[i].first_byte));
  }
  const std::size_t more = kinds.size() - std::min(kinds.size(), kKindsShown);
  if (more > 0) text += fmt::format("; {} more {} (--json)", more, more == 1 ? "kind" : "kinds");
  return text + ".";
}

std::string read_in_part(const ProcessAnswer& process, const ImportAnswer& imported) {
  const std::optional<double> pct = imported.read_pct();
  // All of its bytes may be read, and yet it was to go on.
  const std::string how_much = !pct          ? fmt::format("{} bytes", grouped(imported.read_bytes))
                               : *pct >= 100 ? "all that is there"
                                             : percent_text(*pct) + " % of its bytes";
  std::string text =
      fmt::format("{}: its profile was read in part, {} ({}).", who(process), how_much, printable(imported.why));
  return text + left_out(imported) + " Shares are of what was read.";
}

void add_damages(const ProcessAnswer& process, std::vector<std::string>& sentences) {
  std::size_t shown = 0;
  for (const Damage& damage : process.damages) {
    if (shown++ == kDamagesPerFile) {
      sentences.push_back(
          fmt::format("… and {} more in {}.", process.damages.size() - kDamagesPerFile, base_name(process.trace_path)));
      return;
    }
    sentences.push_back(fmt::format("{}: {} bytes at offset {} cannot be read: {}.",
                                    printable(base_name(process.trace_path)), grouped(damage.bytes), damage.offset,
                                    damage.what));
  }
}

}  // namespace

// Counted by different threads at different moments, so the parts may differ from the whole by a few.
std::vector<LossShare> loss_shares(const ProcessAnswer& process) {
  std::vector<LossShare> shares;
  std::uint64_t rest = process.lost;
  const auto add = [&](const char* id, std::uint64_t records, const std::string& because) {
    records = std::min(records, rest);
    rest -= records;
    if (records > 0) shares.push_back({id, records, because});
  };
  add("file", process.lost_in_file,
      fmt::format("not taken by the file system ({}): make room in the run folder", std::strerror(process.file_errno)));
  for (std::size_t cause = 0; cause < kReasonCount; ++cause)
    add(kReasons[cause].id, process.lost_by[cause], kReasons[cause].because);
  add("unknown", rest, process.damages.empty() ? "why is not known" : "they stood where the file is damaged");
  return shares;
}

std::vector<std::string> loss_sentences(const RunAnswer& run) {
  std::vector<std::string> sentences;
  for (const ProcessAnswer& process : run.processes)
    if (is_read_in_part(process)) sentences.push_back(read_in_part(process, *process.imported));
  for (const Unreadable& file : run.unreadable) {
    sentences.push_back(fmt::format("{} cannot be read (offset {}): {}.", printable(base_name(file.path)), file.offset,
                                    printable(file.what)));
  }
  for (const KernelFile& file : run.kernel.files)
    if (file.lost > 0)
      sentences.push_back(fmt::format("{}: {} events of the kernel were lost, beside {} that were kept.",
                                      printable(base_name(file.path)), grouped(file.lost), grouped(file.rows)));
  for (const ProcessAnswer& process : run.processes) {
    if (process.lost > 0) sentences.push_back(lost_records(process));
    if (process.tail_gone) {
      sentences.push_back(
          fmt::format("{} was killed, or left by the bare system call, and its shared memory is gone: its last "
                      "records are missing, how many is not known.",
                      who(process)));
    }
    add_damages(process, sentences);
  }
  if (sentences.size() > kMostLosses) {
    const std::size_t more = sentences.size() - kMostLosses;
    sentences.resize(kMostLosses);
    sentences.push_back(fmt::format("… and {} more of this kind; `hostprobe report --json` has all.", more));
  }
  return sentences;
}

}  // namespace hostprobe::analysis
