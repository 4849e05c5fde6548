// kernel_report.cpp: see kernel_report.h.
#include "kernel_report.h"

#include <algorithm>
#include <map>

#include "columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kShortNeighbours = 5;
constexpr std::size_t kShortIrqs = 4;

Json neighbour_json(const Neighbour& one) {
  Json json = {{"comm", one.comm.empty() ? Json(nullptr) : Json(one.comm)}, {"pid", one.pid}, {"took_ms", one.took_ms}};
  if (one.supposed_ms > 0) json["supposed_ms"] = one.supposed_ms;
  return json;
}

Json neighbours_json(const std::vector<Neighbour>& neighbours) {
  Json list = Json::array();
  for (const Neighbour& one : neighbours) list.push_back(neighbour_json(one));
  return list;
}

Json irqs_json(const KernelShare& share) {
  Json list = Json::array();
  for (const IrqShare& irq : share.irqs)
    list.push_back({{"name", irq.name.empty() ? Json(nullptr) : Json(irq.name)},
                    {"number", irq.number},
                    {"soft", irq.soft},
                    {"count", irq.count},
                    {"total_ms", irq.ms}});
  return {{"hard", {{"count", share.hard}, {"total_ms", share.hard_ms}}},
          {"soft", {{"count", share.soft}, {"total_ms", share.soft_ms}}},
          {"by_name", list}};
}

std::uint64_t launches_of(const Json& process) {
  const Json* launches = process.find("launches");
  return launches == nullptr ? 0 : launches->at("count").count();
}

Json per_1000(std::uint64_t count, std::uint64_t launches) {
  return launches == 0 ? Json(nullptr) : Json(1000.0 * static_cast<double>(count) / static_cast<double>(launches));
}

Json file_json(const KernelFile& file) {
  Json json = {{"trace", file.path},
               {"host", file.host.empty() ? Json(nullptr) : Json(file.host)},
               {"command", file.command},
               {"form", file.has_totals ? "totals" : "events"},
               {"events", file.rows},
               {"lost", file.lost},
               {"used", file.used},
               {"cpus", file.cpus},
               {"span_ms", 1e-6 * static_cast<double>(file.end_ns - file.begin_ns)}};
  if (file.has_totals) json["cost_ms"] = file.cost_ms > 0 ? Json(file.cost_ms) : Json(nullptr);
  return json;
}

std::string name_of(const IrqShare& irq) {
  const std::string name = irq.name.empty() ? std::to_string(irq.number) : printable(irq.name);
  return irq.soft ? "softirq " + name : "IRQ " + name;
}

class KernelTable : private Lines {
 public:
  KernelTable(const RunAnswer& run, const ReportOptions& options) : run_(run), options_(options) {}

  std::string write() {
    if (run_.kernel.files.empty()) return {};
    say("Who had the CPU, by the kernel's own records. `took`: while a thread of the process could have run.", "",
        "  ");
    bool any = false;
    for (const ProcessAnswer& process : run_.processes) {
      const KernelShare* share = run_.kernel.of(process.trace_path);
      if (share == nullptr || !options_.shows(process)) continue;
      if (process.kind == ProcessKind::kWorker && !options_.all) continue;
      write_process(process, *share);
      any = true;
    }
    if (!any) line("  no recorded process ran while the kernel was recorded");
    for (const KernelFile& file : run_.kernel.files)
      if (file.used && file.has_totals && file.cost_ms > 0) write_cost(file);
    return take();
  }

 private:
  void write_process(const ProcessAnswer& process, const KernelShare& share) {
    const std::string who =
        process.rank ? fmt::format("rank {} (pid {})", *process.rank, process.pid) : fmt::format("pid {}", process.pid);
    std::string waited = fmt::format(
        "{}: could have run and did not for {} of {}, all threads together; its own threads took {} of that", who,
        ms_text(share.waited_ms), ms_text(share.seen_ms), ms_text(share.own_ms));
    if (share.unknown_ms > 0) waited += fmt::format("; who had {} is not known", ms_text(share.unknown_ms));
    say(waited, "  ", "    ");
    const std::size_t shown =
        options_.all ? share.neighbours.size() : std::min(share.neighbours.size(), kShortNeighbours);
    if (shown > 0) line("    {} {:>8} {:>9} {:>10}", left("neighbour", 18), "pid", "took", "estimated");
    for (std::size_t i = 0; i < shown; ++i) {
      const Neighbour& one = share.neighbours[i];
      line("    {} {:>8} {} {}", left(one.comm.empty() ? "?" : printable(one.comm), 18), one.pid,
           right(ms_text(one.took_ms), 9), right(one.supposed_ms > 0 ? ms_text(one.supposed_ms) : "", 10));
    }
    if (shown < share.neighbours.size()) line("    … and {} more (--all)", share.neighbours.size() - shown);
    write_irqs(share);
  }

  void write_cost(const KernelFile& file) {
    const double span_ms = 1e-6 * static_cast<double>(file.end_ns - file.begin_ns);
    say(fmt::format("The kernel added this up itself, which took about {} of CPU time of all CPUs ({:.2f} % of one).",
                    ms_text(file.cost_ms), span_ms > 0 ? 100 * file.cost_ms / span_ms : 0),
        "  ", "    ");
  }

  void write_irqs(const KernelShare& share) {
    if (share.irqs.empty()) return;
    std::string text = fmt::format("interrupts while it ran: {} hard ({}), {} soft ({})", grouped(share.hard),
                                   ms_text(share.hard_ms), grouped(share.soft), ms_text(share.soft_ms));
    for (std::size_t i = 0; i < std::min(share.irqs.size(), kShortIrqs); ++i)
      text += fmt::format("{} {} × {}", i == 0 ? ":" : ",", name_of(share.irqs[i]), grouped(share.irqs[i].count));
    say(text, "    ", "      ");
  }

  void say(const std::string& text, const std::string& first, const std::string& next) {
    add(wrapped(text, first, next, options_.width));
  }

  const RunAnswer& run_;
  const ReportOptions& options_;
};

}  // namespace

std::string kernel_table(const RunAnswer& run, const ReportOptions& options) {
  return KernelTable(run, options).write();
}

void add_kernel_json(const KernelShare* share, Json& process) {
  if (share == nullptr) return;
  process["neighbours"] = neighbours_json(share->neighbours);
  process["kernel"] = {{"seen_ms", share->seen_ms},
                       {"waited_ms", share->waited_ms},
                       {"own_took_ms", share->own_ms},
                       {"switches", share->switches},
                       {"irqs", irqs_json(*share)}};
  if (share->preempted_ms) {
    process["kernel"]["preempted_ms"] = *share->preempted_ms;
    process["kernel"]["unknown_ms"] = share->unknown_ms;
  }
  const std::uint64_t launches = launches_of(process);
  if (launches == 0) return;
  Json& per = process["launches"]["pairs"]["per_1000_launches"];
  per["hard_irqs"] = per_1000(share->hard, launches);
  per["soft_irqs"] = per_1000(share->soft, launches);
}

void add_kernel_json(const RunAnswer& run, Json& document) {
  if (run.kernel.files.empty()) return;
  std::map<std::pair<std::string, std::uint32_t>, Neighbour> all;
  for (const ProcessAnswer& process : run.processes) {
    const KernelShare* share = run.kernel.of(process.trace_path);
    if (share == nullptr) continue;
    for (const Neighbour& one : share->neighbours) {
      Neighbour& sum = all[{process.host, one.pid}];
      sum.comm = one.comm;
      sum.pid = one.pid;
      sum.took_ms += one.took_ms;
      sum.supposed_ms += one.supposed_ms;
    }
  }
  std::vector<Neighbour> list;
  for (const auto& [key, one] : all) list.push_back(one);
  std::stable_sort(list.begin(), list.end(),
                   [](const Neighbour& l, const Neighbour& r) { return l.took_ms > r.took_ms; });
  document["neighbours"] = neighbours_json(list);
  document["kernel"] = Json::array();
  for (const KernelFile& file : run.kernel.files) document["kernel"].push_back(file_json(file));
}

}  // namespace hostprobe::analysis
