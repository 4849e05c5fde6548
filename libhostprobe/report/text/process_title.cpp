// process_title.cpp: see process_title.h.
#include "process_title.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "action_sentences.h"
#include "answer/file_name.h"
#include "report/columns.h"
#include "report/news.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// Folders of the interpreter and the script take the place that their arguments need.
std::string short_command(const ProcessAnswer& process) {
  std::string text, word;
  std::istringstream words(process.command.empty() ? process.program : process.command);
  while (words >> word) {
    if (!text.empty()) text += ' ';
    text += word.starts_with('/') ? base_name(word) : word;
  }
  return text;
}

std::string end_words(const ProcessAnswer& process) {
  if (process.end == EndState::kRunning) return " · running";
  if (process.end_signal || process.end_status.value_or(0) != 0) return " · " + end_text(process);
  if (process.end == EndState::kEnded) return "";
  return std::string(" · killed, or left by the bare system call") +
         (process.end == EndState::kRecovered ? "; what it had recorded is here" : "");
}

}  // namespace

std::string process_title(const RunAnswer& run, const ProcessAnswer& process, std::size_t width) {
  std::string name = process.kind == ProcessKind::kRank     ? fmt::format("RANK {}", process.rank.value_or(0))
                     : process.kind == ProcessKind::kWorker ? "WORKER"
                                                            : "PROCESS";
  if (process.kind == ProcessKind::kWorker && process.rank) name += fmt::format(" of rank {}", *process.rank);
  if (process.restart.value_or(0) > 0) name += fmt::format(" · restart {}", *process.restart);
  if (process.task != ProcessTask::kUnknown) name += fmt::format(" · {}", task_words(process.task));
  name += fmt::format(" · pid {}", process.pid);
  if (run.hosts.size() > 1) name += " · " + printable(process.host);
  name += end_words(process);
  return name + " · " + shortened(short_command(process), width - std::min(width - 20, columns(name) + 3)) + "\n";
}

std::string process_life(const ProcessAnswer& process, std::size_t width) {
  const std::string cost = process.own_cost ? fmt::format("{:.2f} %", process.wall_share(process.own_cost->total_ms()))
                                            : std::string("not measured");
  Lines out;
  out.add(wrapped(fmt::format("wall {} · CPU {} · records {} · lost {} · hostprobe's own cost {}",
                              ms_text(process.wall_ms), process.cpu_ms ? ms_text(*process.cpu_ms) : "not measured",
                              grouped(process.records), grouped(process.lost), cost),
                  "", "  ", width));
  if (const std::string seen = visible_part(process); !seen.empty()) out.add(wrapped(seen, "", "  ", width));
  return out.take();
}

}  // namespace hostprobe::analysis
