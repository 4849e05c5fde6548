// run_diff.cpp: see run_diff.h.
#include "run_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analysis/ranks/delay_chain.h"

namespace hostprobe::analysis {
namespace {

// A row is a change where the averages lie so many standard errors apart.
constexpr double kErrors = 4;

struct Times {
  Histogram time;
  double whole_ns = 0;  // what its share is of
};
using Table = std::map<std::string, Times>;

bool speaks(const RunAnswer& run, const ProcessAnswer& process) {
  return run.ranks > 0 ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker;
}

double wall_ns(const RunAnswer& run) {
  double sum = 0;
  for (const ProcessAnswer& process : run.processes)
    if (speaks(run, process)) sum += 1e6 * process.wall_ms;
  return sum;
}

template <typename Add>
Table table_of(const RunAnswer& run, double whole_ns, Add add) {
  Table table;
  for (const ProcessAnswer& process : run.processes)
    if (speaks(run, process)) add(process, table);
  for (auto& [name, times] : table) times.whole_ns = whole_ns;
  return table;
}

// Shares are of the sum over all rows.
Table with_shares(Table table) {
  double sum = 0;
  for (const auto& [name, times] : table) sum += times.time.total_ns();
  for (auto& [name, times] : table) times.whole_ns = sum;
  return table;
}

Table kernels_of(const RunAnswer& run) {
  return with_shares(table_of(run, 0, [](const ProcessAnswer& process, Table& table) {
    for (const auto& [name, time] : process.kernels) table[name].time.add(time);
  }));
}

std::string bytes_name(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1024;
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::string size_name(int size) {
  if (size == kSizeUnknown) return "of unknown size";
  if (size == kNoBytes) return "0 B";
  return fmt::format("{} to {}", bytes_name(least_bytes(size)), bytes_name(next_least_bytes(size)));
}

bool has_gpu_times(const RunAnswer& run) {
  for (const CollectiveAnswer& one : run.collectives)
    for (const auto& [size, times] : one.sizes)
      if (times.gpu.count() > 0) return true;
  return false;
}

Table collectives_of(const RunAnswer& run, bool on_gpu) {
  Table table;
  for (const CollectiveAnswer& one : run.collectives) {
    for (const auto& [size, times] : one.sizes) {
      const Histogram& time = on_gpu ? times.gpu : times.host;
      if (time.count() == 0) continue;
      table[fmt::format("{} {}{}", one.operation, size_name(size),
                        one.ranks > 0 ? fmt::format(", {} ranks", one.ranks) : "")]
          .time.add(time);
    }
  }
  return with_shares(std::move(table));
}

std::string site_name(const WaitSite& site) {
  return fmt::format("{} from {} in {}", site.function, site.library, role_name(site.role));
}

Table waits_of(const RunAnswer& run) {
  return table_of(run, wall_ns(run), [](const ProcessAnswer& process, Table& table) {
    for (const WaitSite& site : process.waits) table[site_name(site)].time.add(site.time);
  });
}

Table wakes_of(const RunAnswer& run) {
  return table_of(run, wall_ns(run), [](const ProcessAnswer& process, Table& table) {
    for (const WaitSite& site : process.waits)
      if (site.wake.count() > 0) table[site_name(site)].time.add(site.wake);
  });
}

Table gaps_of(const RunAnswer& run) {
  return table_of(run, wall_ns(run), [](const ProcessAnswer& process, Table& table) {
    if (process.launches.gap.count() > 0) table["launch gaps"].time.add(process.launches.gap);
  });
}

Table polls_of(const RunAnswer& run) {
  return table_of(run, wall_ns(run), [](const ProcessAnswer& process, Table& table) {
    for (const ProgressAnswer& thread : process.progress)
      if (thread.poll.count() > 0) table["polls of NCCL's progress threads"].time.add(thread.poll);
  });
}

Table chain_of(const RunAnswer& run) {
  Table table;
  for (const DelayRow& row : run.delay_chain) table[delay_link_name(row.link)].time.add(row.time);
  return table;
}

DiffSide side_of(const Times* times) {
  DiffSide side;
  if (times == nullptr || times->time.count() == 0) return side;
  const Histogram& time = times->time;
  side.count = time.count();
  side.avg_us = 1e-3 * time.mean_ns();
  side.median_us = 1e-3 * time.percentile_ns(50);
  side.min_us = 1e-3 * time.min_ns();
  side.max_us = 1e-3 * time.max_ns();
  side.p99_us = 1e-3 * time.percentile_ns(99);
  // Threads of one role wait beside each other, so there are shares over 100: then they are none.
  const double share = times->whole_ns > 0 ? 100 * time.total_ns() / times->whole_ns : 101;
  if (share <= 100) side.share_pct = share;
  return side;
}

// What is known of one run by which its rows are judged: calls of one step are late together, and count as one.
struct Judge {
  std::uint64_t a_steps = 0, b_steps = 0;
  double noise_pct = 0;

  static double error2(const Histogram& time, std::uint64_t steps) {
    const auto all = static_cast<double>(time.count());
    const double independent = steps > 0 ? std::min(all, static_cast<double>(steps)) : std::sqrt(all);
    return independent < 5 ? INFINITY : time.variance() / independent;
  }
  bool differ(const Histogram& a, const Histogram& b) const {
    if (a.mean_ns() <= 0) return false;
    const double error = std::sqrt(error2(a, a_steps) + error2(b, b_steps)), change = b.mean_ns() - a.mean_ns();
    // Buckets are a thirty-second wide.
    const double noise = std::max(noise_pct / 100, 1.0 / 32) * a.mean_ns();
    return std::abs(change) > kErrors * error && std::abs(change) > noise;
  }
};

const Times* find(const Table& table, const std::string& name) {
  const auto found = table.find(name);
  return found == table.end() ? nullptr : &found->second;
}

std::vector<DiffRow> rows_of(const Table& a, const Table& b, const Judge& judge) {
  std::map<std::string, double> names;
  for (const Table* table : {&a, &b})
    for (const auto& [name, times] : *table) names[name] = std::max(names[name], times.time.total_ns());
  std::vector<std::pair<std::string, double>> order(names.begin(), names.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& l, const auto& r) { return l.second > r.second; });
  std::vector<DiffRow> rows;
  for (const auto& [name, ns] : order) {
    const Times *own_a = find(a, name), *own_b = find(b, name);
    DiffRow row{name, side_of(own_a), side_of(own_b), {}, false};
    if (row.a.avg_us && row.b.avg_us && *row.a.avg_us > 0)
      row.change_pct = 100 * (*row.b.avg_us - *row.a.avg_us) / *row.a.avg_us;
    row.significant = own_a != nullptr && own_b != nullptr && judge.differ(own_a->time, own_b->time);
    rows.push_back(std::move(row));
  }
  return rows;
}

// In the order of the links, as far as either run has them.
std::vector<DiffRow> chain_rows(const Table& a, const Table& b, const Judge& judge) {
  std::vector<DiffRow> rows = rows_of(a, b, judge);
  const auto number = [](const DiffRow& row) {
    int link = 0;
    while (row.name != delay_link_name(static_cast<DelayLink>(link))) ++link;
    return link;
  };
  std::sort(rows.begin(), rows.end(), [&](const DiffRow& l, const DiffRow& r) { return number(l) < number(r); });
  return rows;
}

// Those of the usual type that have a place in time, in order: types are never pooled.
std::vector<double> step_ms(const RunAnswer& run) {
  const std::size_t type = run.steps.usual_type();
  std::vector<double> ms;
  for (const Step& step : run.steps.steps)
    if (step.type == type) ms.push_back(1e-6 * step.length_ns());
  return ms;
}

std::vector<PathChange> compare_paths(const std::optional<RunPath>& a, const std::optional<RunPath>& b) {
  if (!a || !b) return {};
  const auto per_step = [](const RunPath& run, std::size_t one) {
    return run.steps == 0 ? std::nullopt
                          : std::optional(1e-6 * run.path.share_ns[one] / static_cast<double>(run.looked_at));
  };
  std::vector<PathChange> changes;
  for (std::size_t i = 0; i < kPathClasses; ++i) {
    const auto one = static_cast<PathClass>(i);
    changes.push_back({one, a->path.share_pct(one), b->path.share_pct(one), per_step(*a, i), per_step(*b, i)});
  }
  return changes;
}

bool any_in_common(const RunDiff& diff) {
  for (const auto* rows : {&diff.kernels, &diff.collectives, &diff.waits, &diff.launch_gaps, &diff.progress})
    for (const DiffRow& row : *rows)
      if (row.a.count > 0 && row.b.count > 0) return true;
  return diff.steps.change_pct.has_value();
}

}  // namespace

RunDiff compare_runs(const RunAnswer& a, const RunAnswer& b) {
  RunDiff diff;
  diff.steps = compare_steps(step_ms(a), step_ms(b));
  const Judge judge{diff.steps.a_count, diff.steps.b_count, diff.steps.noise_pct};
  diff.findings = compare_findings(a, b, diff.steps);
  diff.delay_chain = chain_rows(chain_of(a), chain_of(b), judge);
  diff.kernels = rows_of(kernels_of(a), kernels_of(b), judge);
  const bool on_gpu = has_gpu_times(a) && has_gpu_times(b);
  diff.collective_source = on_gpu ? "gpu" : "host";
  diff.collectives = rows_of(collectives_of(a, on_gpu), collectives_of(b, on_gpu), judge);
  diff.waits = rows_of(waits_of(a), waits_of(b), judge);
  diff.wakes = rows_of(wakes_of(a), wakes_of(b), judge);
  diff.launch_gaps = rows_of(gaps_of(a), gaps_of(b), judge);
  diff.progress = rows_of(polls_of(a), polls_of(b), judge);
  diff.path = compare_paths(a.critical_path, b.critical_path);
  diff.nothing_in_common = !any_in_common(diff);
  return diff;
}

}  // namespace hostprobe::analysis
