// news.cpp: see news.h.
#include "news.h"

#include <fmt/format.h>

#include <algorithm>

#include "answer/process.h"
#include "answer/wait.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostNamed = 4;

template <typename Number>
std::string listed(const std::vector<Number>& numbers) {
  std::string text;
  const std::size_t shown = numbers.size() > kMostNamed ? kMostNamed - 1 : numbers.size();
  for (std::size_t i = 0; i < shown; ++i) {
    const bool last = i + 1 == numbers.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", numbers[i]);
  }
  if (shown < numbers.size()) text += fmt::format(" and {} more", numbers.size() - shown);
  return text;
}

std::string name_of(const RunAnswer& run, const ProcessAnswer& process) {
  if (process.kind == ProcessKind::kRank) return fmt::format("rank {}", process.rank.value_or(0));
  return run.processes.size() == 1 ? "the program" : fmt::format("process {}", process.pid);
}

std::string counted(std::uint32_t count, const char* one, const char* many) {
  static constexpr const char* kWords[] = {"no", "one", "two", "three", "four", "five"};
  return count < std::size(kWords) ? fmt::format("{} {}", kWords[count], count == 1 ? one : many)
                                   : fmt::format("{} {}", count, many);
}

std::string death_text(const RunAnswer& run, const Death& death) {
  const ProcessAnswer& process = run.processes[death.process];
  std::string text =
      fmt::format("{} {} at {:.1f} s", name_of(run, process), end_text(process), std::max(0.0, process.end_s));
  if (death.others > 0)
    text += fmt::format(", {} ended after it", counted(death.others, run.ranks > 0 ? "other rank" : "other process",
                                                       run.ranks > 0 ? "other ranks" : "other processes"));
  return text;
}

void add_deaths(const RunAnswer& run, std::vector<std::string>& sentences) {
  const std::vector<Death>& deaths = run.deaths;
  const Restarts& restarts = run.restarts;
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(deaths.size(), 2); ++i)
    text += (text.empty() ? "" : "; ") + death_text(run, deaths[i]);
  if (deaths.size() > 2)
    text +=
        fmt::format("; {}", counted(static_cast<std::uint32_t>(deaths.size() - 2), "more such end", "more such ends"));
  if (restarts.count > 0)
    text += fmt::format("{}{}; {} lost between them", text.empty() ? "the ranks were started again: " : "; ",
                        counted(restarts.count, "restart", "restarts"), duration_text(1e9 * restarts.lost_s));
  if (!text.empty()) sentences.push_back(text + ".");
}

// "3, 8 to 15": numbers are sorted.
std::vector<std::string> ranges_of(const std::vector<int>& numbers) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    ranges.push_back(end - i < 3 ? fmt::to_string(numbers[i]) : fmt::format("{} to {}", numbers[i], numbers[end - 1]));
    i = end - i < 3 ? i + 1 : end;
  }
  return ranges;
}

void add_unwritten(const RunAnswer& run, std::vector<std::string>& sentences) {
  if (run.unwritten_ranks.empty() || run.ranks == 0) return;
  const std::vector<int>& none = run.unwritten_ranks;
  sentences.push_back(fmt::format("{} of {} ranks wrote a trace; {} {} wrote none.", run.world - none.size(), run.world,
                                  none.size() == 1 ? "rank" : "ranks", listed(ranges_of(none))));
}

std::string who_waits(const RunAnswer& run, const LongWait& wait) {
  if (wait.ranks.size() == 1) return fmt::format("rank {}", wait.ranks.front());
  if (!wait.ranks.empty()) return "ranks " + listed(wait.ranks);
  if (run.processes.size() == 1) return "the program";
  return (wait.pids.size() == 1 ? "process " : "processes ") + listed(wait.pids);
}

std::string long_wait_text(const RunAnswer& run, const LongWait& wait) {
  const bool many = wait.ranks.size() + wait.pids.size() > 1;
  const char* verb = wait.ended ? (many ? "were" : "was") : (many ? "have been" : "has been");
  const std::string place = wait.python.empty()
                                ? fmt::format("{} of {}", printable(wait.function), printable(wait.library))
                                : printable(wait.python);
  const std::string since = duration_text(1e9 * wait.most_s);
  const std::string at_the_end = wait.ended ? " at the end" : "";
  if (wait.sleeps)
    return fmt::format("{} {} asleep in {} for {}{}.", who_waits(run, wait), verb, place, since, at_the_end);
  return fmt::format("{} {} in {} for {}{}.", who_waits(run, wait), verb, place, since, at_the_end);
}

}  // namespace

std::string end_text(const ProcessAnswer& process) {
  if (process.end_signal) return "was killed by " + signal_name(*process.end_signal);
  if (process.end_status) return fmt::format("exited with status {}", *process.end_status);
  return "was killed, or left by the bare system call,";
}

std::vector<std::string> news(const RunAnswer& run) {
  std::vector<std::string> sentences;
  add_unwritten(run, sentences);
  add_deaths(run, sentences);
  const std::vector<LongWait>& waits = run.long_waits;
  for (std::size_t i = 0; i < std::min<std::size_t>(waits.size(), 2); ++i)
    sentences.push_back(long_wait_text(run, waits[i]));
  for (std::string& sentence : sentences)
    sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence[0])));
  return sentences;
}

}  // namespace hostprobe::analysis
