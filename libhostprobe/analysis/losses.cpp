// losses.cpp: see losses.h.
#include "losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "run_answer.h"
#include "text.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostSentences = 8;
constexpr std::size_t kDamagesPerFile = 3;

std::string who(const ProcessAnswer& process) {
  const std::string pid = fmt::format("pid {}", process.pid);
  if (process.kind == ProcessKind::kRank) return fmt::format("Rank {} ({})", process.rank.value_or(0), pid);
  return (process.kind == ProcessKind::kWorker ? "Worker " : "Process ") + pid;
}

std::string percent_text(double percent) {
  return percent < 0.1 ? fmt::format("{:.1g}", percent) : fmt::format("{:.1f}", percent);
}

std::string lost_records(const ProcessAnswer& process) {
  const double all = static_cast<double>(process.records + process.lost);
  std::string text = fmt::format("{} lost {} of {} records ({} %)", who(process), grouped(process.lost),
                                 grouped(process.records + process.lost),
                                 percent_text(100.0 * static_cast<double>(process.lost) / all));
  if (process.lost_in_file > 0) {
    text += fmt::format("; {} of them were not taken by the file system ({}): make room in the run folder",
                        grouped(process.lost_in_file), std::strerror(process.file_errno));
  } else if (process.damages.empty()) {
    text += ": the buffer was full. A larger HOSTPROBE_BUFFER_MB keeps more";
  }
  return text + ".";
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

std::vector<std::string> loss_sentences(const RunAnswer& run) {
  std::vector<std::string> sentences;
  for (const Unreadable& file : run.unreadable) {
    sentences.push_back(fmt::format("{} cannot be read (offset {}): {}.", printable(base_name(file.path)), file.offset,
                                    printable(file.what)));
  }
  for (const ProcessAnswer& process : run.processes) {
    if (process.lost > 0) sentences.push_back(lost_records(process));
    if (process.tail_gone) {
      sentences.push_back(
          fmt::format("{} did not end properly and its shared memory is gone: its last records are missing, "
                      "how many nobody knows.",
                      who(process)));
    }
    add_damages(process, sentences);
  }
  if (sentences.size() > kMostSentences) {
    const std::size_t more = sentences.size() - kMostSentences;
    sentences.resize(kMostSentences);
    sentences.push_back(fmt::format("… and {} more of this kind; `hostprobe report --json` has all.", more));
  }
  return sentences;
}

}  // namespace hostprobe::analysis
