// rank_table.cpp: see rank_table.h.
#include "rank_table.h"

#include <algorithm>
#include <map>

#include "process_text.h"
#include "report/columns.h"
#include "report/news.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortRanks = 16;

double main_share(const ProcessAnswer& process, double ms) {
  const ThreadAnswer* main = process.main_thread();
  return main == nullptr || main->time.wall_ms <= 0 ? 0 : 100 * ms / main->time.wall_ms;
}

double wait_pct(const ProcessAnswer& process) {
  const ThreadAnswer* main = process.main_thread();
  return main == nullptr ? 0 : main_share(process, main->time.wait_ms);
}

double no_cpu_pct(const ProcessAnswer& process) {
  const ThreadAnswer* main = process.main_thread();
  return main == nullptr ? 0 : main_share(process, main->time.run_delay_ms.value_or(0));
}

// All incarnations of a rank, the last one behind. A profile of one that was traced is none.
using Incarnations = std::vector<const ProcessAnswer*>;

std::map<int, Incarnations> by_rank(const RunAnswer& run) {
  std::map<int, Incarnations> ranks;
  for (const ProcessAnswer& process : run.processes)
    if (process.kind == ProcessKind::kRank && run.traced(process) == nullptr)
      ranks[process.rank.value_or(0)].push_back(&process);
  for (auto& [rank, lives] : ranks)
    std::stable_sort(lives.begin(), lives.end(), [](const ProcessAnswer* l, const ProcessAnswer* r) {
      return l->start_realtime_ns < r->start_realtime_ns;
    });
  return ranks;
}

std::string ending(const ProcessAnswer& process) {
  if (process.end == EndState::kRunning) return "running · ";
  if (process.end_signal || process.end_status.value_or(0) != 0) return end_text(process) + " · ";
  return process.end == EndState::kEnded ? "" : "end not seen · ";
}

struct Total {
  double wall_ms = 0, cpu_ms = 0, cost_ms = 0;
  std::uint64_t lost = 0;
  bool cost_known = false, cpu_known = false;
};

Total total_of(const Incarnations& lives) {
  Total total;
  for (const ProcessAnswer* life : lives) {
    total.wall_ms += life->wall_ms;
    total.cpu_ms += life->cpu_ms.value_or(0);
    total.cpu_known = total.cpu_known || life->cpu_ms;
    total.cost_ms += life->own_cost ? life->own_cost->total_ms() : 0;
    total.cost_known = total.cost_known || life->own_cost;
    total.lost += life->lost;
  }
  return total;
}

std::string rank_line(int rank, const Incarnations& lives) {
  const ProcessAnswer& last = *lives.back();
  const Total total = total_of(lives);
  const std::string cost =
      total.cost_known && total.wall_ms > 0 ? fmt::format("{:.2f}", 100 * total.cost_ms / total.wall_ms) : "?";
  const std::string times = lives.size() > 1 ? fmt::format("{} (×{})", rank, lives.size()) : std::to_string(rank);
  const std::string rest = ending(last) + heaviest_wait_text(last);
  return fmt::format("{} {:>7} {} {} {:>6.1f} {:>6.1f} {:>6} {:>6}  {}", left(times, 9), last.pid,
                     right(ms_text(total.wall_ms), 7), right(total.cpu_known ? ms_text(total.cpu_ms) : "?", 7),
                     no_cpu_pct(last), wait_pct(last), total.lost, cost, shortened(rest, 34));
}

}  // namespace

std::string rank_table(const RunAnswer& run, const ReportOptions& options) {
  Lines lines;
  lines.line("");
  lines.line("{} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6} {:>6}  {}", left("Ranks", 9), "pid", "wall", "CPU", "noCPU%",
             "wait%", "lost", "cost%", "heaviest wait (shares are the main thread's)");
  const std::map<int, Incarnations> ranks = by_rank(run);
  std::size_t shown = 0;
  for (const auto& [rank, lives] : ranks) {
    if (options.rank && rank != *options.rank) continue;
    if (!options.all && shown == kShortRanks) {
      lines.line("  … and {} more (--all)", ranks.size() - shown);
      break;
    }
    lines.line("{}", rank_line(rank, lives));
    ++shown;
  }
  return lines.take();
}

std::vector<const ProcessAnswer*> chosen_ranks(const RunAnswer& run, const std::vector<Finding>& findings) {
  std::vector<const ProcessAnswer*> last;
  for (const auto& [rank, lives] : by_rank(run)) last.push_back(lives.back());
  if (last.empty()) return last;
  std::stable_sort(last.begin(), last.end(),
                   [](const ProcessAnswer* l, const ProcessAnswer* r) { return wait_pct(*l) < wait_pct(*r); });
  const ProcessAnswer* slowest = last.front();
  const auto named =
      std::find_if(findings.begin(), findings.end(), [](const Finding& one) { return one.rank.has_value(); });
  for (const ProcessAnswer* one : last)
    if (named != findings.end() && one->rank == named->rank) slowest = one;
  const ProcessAnswer* median = last[last.size() / 2];
  if (median == slowest) median = last[last.size() / 2 == 0 ? last.size() - 1 : last.size() / 2 - 1];
  return {slowest, median};
}

}  // namespace hostprobe::analysis
