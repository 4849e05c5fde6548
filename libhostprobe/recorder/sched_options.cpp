// sched_options.cpp: see sched_options.h.
#include "sched_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>
#include <string_view>

namespace hostprobe::kernel {
namespace {

constexpr std::string_view kEvents[] = {
    "sched/sched_switch",       "sched/sched_waking",       "sched/sched_wakeup_new",   "sched/sched_migrate_task",
    "sched/sched_process_fork", "sched/sched_process_exec", "sched/sched_process_exit", "irq/irq_handler_entry",
    "irq/irq_handler_exit",     "irq/softirq_entry",        "irq/softirq_exit"};

std::vector<std::string_view> words_of(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return words;
}

int cpu_of(std::string_view text, const std::string& list, int configured) {
  int number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0)
    throw std::invalid_argument(fmt::format("'{}' is no list of CPUs; write 0-3,5", list));
  if (number >= configured)
    throw std::invalid_argument(fmt::format("there is no CPU {}; this machine has 0-{}", number, configured - 1));
  return number;
}

bool is_named(std::string_view event, std::string_view word) {
  const std::size_t slash = event.find('/');
  const std::string_view system = event.substr(0, slash), name = event.substr(slash + 1);
  if (word.find(':') != std::string_view::npos)
    return word.substr(0, word.find(':')) == system && word.substr(word.find(':') + 1) == name;
  if (word == "softirq") return name.starts_with("softirq");
  if (word == "irq") return name.starts_with("irq_handler");
  return word == name || word == system;
}

}  // namespace

std::vector<int> parse_cpus(const std::string& list, int configured) {
  std::set<int> cpus;
  for (const std::string_view word : words_of(list)) {
    const std::size_t dash = word.find('-');
    const int first = cpu_of(word.substr(0, dash), list, configured);
    const int last = dash == std::string_view::npos ? first : cpu_of(word.substr(dash + 1), list, configured);
    if (last < first) throw std::invalid_argument(fmt::format("'{}' is no list of CPUs; write 0-3,5", list));
    for (int cpu = first; cpu <= last; ++cpu) cpus.insert(cpu);
  }
  return {cpus.begin(), cpus.end()};
}

std::vector<std::string> parse_events(const std::string& list) {
  if (list.empty()) return {std::begin(kEvents), std::end(kEvents)};
  std::set<std::string> chosen;
  for (const std::string_view word : words_of(list)) {
    const std::size_t before = chosen.size();
    bool any = false;
    for (const std::string_view event : kEvents) {
      if (!is_named(event, word)) continue;
      chosen.insert(std::string(event));
      any = true;
    }
    if (!any && chosen.size() == before)
      throw std::invalid_argument(
          fmt::format("no event '{}' that is used here: sched, irq, softirq, or a name such as sched_switch", word));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace hostprobe::kernel
