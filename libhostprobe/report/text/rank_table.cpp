// rank_table.cpp: see rank_table.h.
#include "rank_table.h"

#include <algorithm>
#include <map>

#include "report/columns.h"
#include "report/news.h"
#include "report/text_table.h"
#include "wait_table.h"
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

void add_rank(int rank, const Incarnations& lives, TextTable& table) {
  const ProcessAnswer& last = *lives.back();
  const Total total = total_of(lives);
  const std::string cost =
      total.cost_known && total.wall_ms > 0 ? fmt::format("{:.2f}", 100 * total.cost_ms / total.wall_ms) : "?";
  const std::string times = lives.size() > 1 ? fmt::format("{} (×{})", rank, lives.size()) : std::to_string(rank);
  table.add({times, std::to_string(last.pid), printable(last.host), ms_text(total.wall_ms),
             total.cpu_known ? ms_text(total.cpu_ms) : "?", fmt::format("{:.1f}", no_cpu_pct(last)),
             fmt::format("{:.1f}", wait_pct(last)), total.lost == 0 ? "" : grouped(total.lost), cost,
             ending(last) + heaviest_wait_text(last)});
}

struct Ranked {
  int rank = 0;
  const Incarnations* lives = nullptr;
  std::size_t named = 0;  // by which finding; of those that none names the number of findings
};

// By rank where all are shown.
std::vector<Ranked> ordered_ranks(const RunAnswer& run, const std::map<int, Incarnations>& ranks, bool worst_first) {
  std::vector<Ranked> order;
  for (const auto& [rank, lives] : ranks) {
    const auto named = std::find_if(run.findings.begin(), run.findings.end(),
                                    [wanted = rank](const Finding& one) { return one.rank == wanted; });
    order.push_back({rank, &lives, static_cast<std::size_t>(named - run.findings.begin())});
  }
  if (worst_first)
    std::stable_sort(order.begin(), order.end(), [](const Ranked& l, const Ranked& r) {
      return l.named != r.named ? l.named < r.named : wait_pct(*l.lives->back()) < wait_pct(*r.lives->back());
    });
  return order;
}

}  // namespace

std::string rank_table(const RunAnswer& run, const ReportOptions& options) {
  TextTable table({{.heading = "rank"},
                   {.heading = "pid", .spare = 3},
                   {.heading = run.hosts.size() > 1 ? "host" : "", .is_name = true, .spare = 4},
                   {.heading = "wall"},
                   {.heading = "CPU"},
                   {.heading = "% no CPU"},
                   {.heading = "% waiting"},
                   {.heading = "lost"},
                   {.heading = "% own cost", .spare = 1},
                   {.heading = "heaviest wait", .is_name = true, .least = 16}});
  const std::map<int, Incarnations> ranks = by_rank(run);
  const bool is_short = !options.all && ranks.size() > kShortRanks;
  const std::vector<Ranked> order = ordered_ranks(run, ranks, is_short);
  std::size_t shown = 0;
  for (const Ranked& one : order) {
    if (options.rank && one.rank != *options.rank) continue;
    if (is_short && shown == kShortRanks) break;
    add_rank(one.rank, *one.lives, table);
    ++shown;
  }
  return table.text(options.width) + (is_short ? more_text(shown, ranks.size()) : "");
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
