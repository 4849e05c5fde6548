// process_text.cpp: see process_text.h.
#include "process_text.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "action_sentences.h"
#include "answer/file_name.h"
#include "answer/wait.h"
#include "python_text.h"
#include "report/columns.h"
#include "report/machine_report.h"
#include "report/news.h"
#include "running_text.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr double kDetailPct = 1.0;  // of its threads' lives, from which on a wait is told in more detail
constexpr std::size_t kShortWakers = 3;
constexpr double kIdlePct = 0.5;  // of its life on a CPU: a thread below only serves

struct Shown {
  std::size_t sites, threads;
  bool places, wakes;
};

Shown shown_of(Detail detail) {
  switch (detail) {
    case Detail::kLittle:
      return {4, 4, false, false};
    case Detail::kUsual:
      return {8, 12, true, true};
    case Detail::kAll:
      break;
  }
  return {SIZE_MAX, SIZE_MAX, true, true};
}

bool is_idle(const ThreadAnswer& thread) {
  const ThreadTime& time = thread.time;
  return thread.role != Role::kMain && time.wall_ms > 0 && 100 * time.cpu_ms.value_or(0) < kIdlePct * time.wall_ms;
}

// The main thread's first; what others wait for is mostly what they are there for.
std::vector<const WaitSite*> ordered_sites(const ProcessAnswer& process) {
  std::vector<const WaitSite*> sites;
  for (const WaitSite& site : process.waits) sites.push_back(&site);
  std::stable_sort(sites.begin(), sites.end(), [](const WaitSite* l, const WaitSite* r) {
    return (l->role == Role::kMain) > (r->role == Role::kMain);
  });
  return sites;
}

class ProcessSection : private Lines {
 public:
  ProcessSection(const RunAnswer& run, const ProcessAnswer& process, Detail detail)
      : run_(run), process_(process), sites_(ordered_sites(process)), detail_(detail), shown_(shown_of(detail)) {}

  std::string write() {
    line("");
    line("{}", title());
    const std::string cost = process_.own_cost
                                 ? fmt::format("{:.2f} %", process_.wall_share(process_.own_cost->total_ms()))
                                 : "not measured";
    line("wall {} · CPU {} · records {} · lost {} · hostprobe's own cost {}", ms_text(process_.wall_ms),
         process_.cpu_ms ? ms_text(*process_.cpu_ms) : "not measured", grouped(process_.records),
         grouped(process_.lost), cost);
    if (const std::string seen = visible_part(process_); !seen.empty()) add(wrapped(seen, "", "  "));
    for (const std::string& one : machine_lines(process_)) add(wrapped(one, "", "  "));
    write_launches();
    write_syncs();
    write_gpu();
    write_python();
    write_running();
    write_regions();
    write_waits();
    if (shown_.wakes) write_wakes();
    if (shown_.wakes) write_kernel_wakers();
    write_progress();
    write_threads();
    return take();
  }

 private:
  // Folders of the interpreter and the script take the place that their arguments need.
  std::string short_command() const {
    std::string text, word;
    std::istringstream words(process_.command.empty() ? process_.program : process_.command);
    while (words >> word) {
      if (!text.empty()) text += ' ';
      text += word.starts_with('/') ? base_name(word) : word;
    }
    return text;
  }

  std::string ending() const {
    if (process_.end == EndState::kRunning) return " · running";
    if (process_.end_signal || process_.end_status.value_or(0) != 0) return " · " + end_text(process_);
    if (process_.end == EndState::kEnded) return "";
    return std::string(" · killed, or left by the bare system call") +
           (process_.end == EndState::kRecovered ? "; what it had recorded is here" : "");
  }

  std::string title() const {
    std::string name = process_.kind == ProcessKind::kRank     ? fmt::format("RANK {}", process_.rank.value_or(0))
                       : process_.kind == ProcessKind::kWorker ? "WORKER"
                                                               : "PROCESS";
    if (process_.kind == ProcessKind::kWorker && process_.rank) name += fmt::format(" of rank {}", *process_.rank);
    if (process_.restart.value_or(0) > 0) name += fmt::format(" · restart {}", *process_.restart);
    if (process_.task != ProcessTask::kUnknown) name += fmt::format(" · {}", task_words(process_.task));
    name += fmt::format(" · pid {}", process_.pid);
    if (run_.hosts.size() > 1) name += " · " + printable(process_.host);
    name += ending();
    return name + " · " + shortened(short_command(), kTextWidth - std::min(kTextWidth - 20, columns(name) + 3));
  }

  void write_launches() {
    const LaunchAnswer& launches = process_.launches;
    if (launches.call.count() == 0) return;
    line("");
    line("Launches {}, {} kernels{}, by {} · call p50 {}, p99 {}", grouped(launches.call.count()),
         launches.kernels ? grouped(*launches.kernels) : "not known how many",
         launches.captured > 0 ? fmt::format(", {} more captured into graphs", grouped(launches.captured)) : "",
         role_name(launches.role), duration_text(launches.call.percentile_ns(50)),
         duration_text(launches.call.percentile_ns(99)));
    if (launches.gap.count() > 0) {
      line("  gap to the next launch p50 {}, p99 {}, max {}{}", duration_text(launches.gap.percentile_ns(50)),
           duration_text(launches.gap.percentile_ns(99)), duration_text(launches.gap.max_ns()),
           launches.gaps_unknown > 0
               ? fmt::format(" ({} unknown: launches before them are missing)", launches.gaps_unknown)
               : "");
    }
    if (!shown_.places) return;
    for (const auto& [name, count] : launches.by_function) line("  {:<34} {:>9}", printable(name), count);
  }

  void write_syncs() {
    if (process_.syncs.time.count() == 0) return;
    const Histogram& time = process_.syncs.time;
    line("GPU synchronisations {} · total {} ({:.1f} % of wall) · p50 {}, p99 {}, max {}", grouped(time.count()),
         duration_text(time.total_ns()), process_.syncs.share_pct, duration_text(time.percentile_ns(50)),
         duration_text(time.percentile_ns(99)), duration_text(time.max_ns()));
    if (!shown_.places) return;
    for (const auto& [name, count] : process_.syncs.by_function) line("  {:<34} {:>9}", printable(name), count);
  }

  // How sure that is stands beside it; of what is exact nothing has to.
  void write_gpu() {
    const GpuAnswer& gpu = process_.gpu;
    if (!gpu.idle_in_steps_pct) return;
    const std::string unknown = gpu.unknown_pct >= 0.5 ? fmt::format(", {:.0f} % not known", gpu.unknown_pct) : "";
    if (gpu.source == ActivitySource::kEvents)
      line("GPU idle in steps {:.1f} % ± {:.1f}{} · by timing events of hostprobe's own", *gpu.idle_in_steps_pct,
           gpu.idle_error_pct, unknown);
    else if (gpu.source == ActivitySource::kBounds)
      line("GPU idle in steps at least {:.1f} %{} · without timing events (HOSTPROBE_GPU)", *gpu.idle_in_steps_pct,
           unknown);
    else if (gpu.source == ActivitySource::kProfile)
      line("GPU idle in steps {:.1f} % · by a profile", *gpu.idle_in_steps_pct);
    if (gpu.check)
      line("  checked by profiles ({}, {}): busy {:.1f} %, by the replay {:.1f} %; at most {:.1f} points apart",
           grouped(gpu.check->profiles), duration_text(1e6 * gpu.check->ms), gpu.check->busy_pct,
           gpu.check->replayed_pct, gpu.check->worst_points);
  }

  void write_python() {
    const std::vector<std::string> lines = python_lines(process_);
    if (!lines.empty()) line("");
    for (const std::string& one : lines) line("{}", one);
  }

  void write_running() {
    const std::size_t threads = detail_ == Detail::kLittle ? 1 : shown_.threads / 4;
    const std::vector<std::string> lines = running_lines(process_, threads, shown_.sites);
    if (!lines.empty()) line("");
    for (const std::string& one : lines) line("{}", one);
  }

  void write_regions() {
    if (process_.regions.empty()) return;
    line("");
    line("{} {:>8} {:>8} {:>8} {:>8} {:>8}", left("Regions", 36), "count", "total", "p50", "p99", "max");
    const std::size_t shown = std::min(process_.regions.size(), shown_.sites);
    for (std::size_t i = 0; i < shown; ++i) {
      const RegionAnswer& region = process_.regions[i];
      line("{} {} {} {} {} {}", left(region.name.empty() ? "(unnamed)" : region.name, 36),
           right(compact(region.time.count()), 8), right(duration_text(region.time.total_ns()), 8),
           right(duration_text(region.time.percentile_ns(50)), 8),
           right(duration_text(region.time.percentile_ns(99)), 8), right(duration_text(region.time.max_ns()), 8));
    }
    if (shown < process_.regions.size()) line("  … and {} more (--all)", process_.regions.size() - shown);
  }

  static std::string site_columns(const WaitSite& site) {
    return left(site.function, 22) + " " + left(site.library, 16) + " " + left(role_name(site.role), 13);
  }

  void write_waits() {
    if (sites_.empty()) return;
    line("");
    line("Waits · waited: each moment once; %life: that, of the lives of the threads that wait there");
    line("{} {} {} {:>7} {:>7} {:>5} {:>7} {:>7} {:>7}", left("function", 22), left("called from", 16),
         left("thread role", 13), "count", "waited", "%life", "p50", "p99", "max");
    const std::size_t shown = std::min(sites_.size(), shown_.sites);
    for (std::size_t i = 0; i < shown; ++i) {
      const WaitSite& site = *sites_[i];
      const bool any = site.time.count() > 0;
      const auto percentile = [&](double percent) {
        return right(any ? duration_text(site.time.percentile_ns(percent)) : "-", 7);
      };
      line("{} {} {:>5.1f} {} {} {}", site_columns(site) + " " + right(compact(site.time.count()), 7),
           right(ms_text(site.own_ms), 7), site.share_pct, percentile(50), percentile(99),
           right(any ? duration_text(site.time.max_ns()) : "-", 7));
      write_open(site);
      if (shown_.places && site.share_pct >= kDetailPct) write_site_detail(site);
    }
    if (shown < sites_.size()) line("  … and {} more (--all)", sites_.size() - shown);
  }

  void write_open(const WaitSite& site) {
    if (site.open == 0) return;
    const ThreadAnswer* longest = nullptr;
    for (const ThreadAnswer& thread : process_.threads) {
      if (!thread.open_wait || thread.role != site.role || thread.open_wait->function != site.function) continue;
      if (longest == nullptr || thread.open_wait->ms > longest->open_wait->ms) longest = &thread;
    }
    if (longest == nullptr || longest->open_wait->ms < 1) return;
    const bool now = process_.end == EndState::kRunning;
    const std::string who = site.open == 1 ? "a thread" : fmt::format("{} threads, the longest", site.open);
    const std::string python = longest->open_wait->python;
    line("    {} in it {}: {} for {}{}", now ? "still" : "not returned from", now ? "now" : "at the end", who,
         ms_text(longest->open_wait->ms), python.empty() ? "" : " · " + printable(python));
  }

  void write_site_detail(const WaitSite& site) {
    if (const double ms = site.ms_for(WaitPurpose::kGil); ms > 0)
      line("    Python's interpreter lock (GIL): {}", ms_text(ms));
    // Code that Python's own lock functions stand for says nothing; its frames do.
    const bool python_waits = !site.python.empty() && site.in_python;
    if (!python_waits) write_places(site.code, 1e-6 * site.time.total_ns(), " % of it");
    write_places(site.python, site.sampled_ms, " % of the sampled time");
  }

  void write_places(const std::vector<WaitPlace>& places, double all_ms, const char* of_what) {
    std::size_t shown = 0;
    for (const WaitPlace& place : places) {
      const double pct = all_ms <= 0 ? 0 : std::min(100.0, 100.0 * place.total_ms / all_ms);
      if (shown++ == 2 || pct < 5) break;
      const std::string share = pct > 99.5 ? "" : fmt::format(" · {:.0f}{}", pct, of_what);
      line("    in {}{}", shortened(place.text, kTextWidth - 7 - columns(share)), share);
    }
  }

  void write_wakes() {
    const bool any = std::any_of(sites_.begin(), sites_.end(), [](const WaitSite* s) { return s->wake.count() > 0; });
    if (!any) return;
    line("");
    line("{} {} {} {:>7} {:>7} {:>7} {:>7} {}", left("Wake latency", 22), left("called from", 16),
         left("thread role", 13), "woken", "p50", "p99", "max", "woken by");
    const std::size_t shown = std::min(sites_.size(), shown_.sites);
    for (std::size_t i = 0; i < shown; ++i) {
      const WaitSite& site = *sites_[i];
      if (site.wake.count() == 0) continue;
      line("{} {} {} {} {} {}", site_columns(site), right(compact(site.wake.count()), 7),
           right(duration_text(site.wake.percentile_ns(50)), 7), right(duration_text(site.wake.percentile_ns(99)), 7),
           right(duration_text(site.wake.max_ns()), 7), site.wakers.empty() ? "unknown" : role_name(site.main_waker()));
    }
  }

  // By the kernel's own records.
  void write_kernel_wakers() {
    for (std::size_t i = 0; i < std::min(sites_.size(), shown_.sites); ++i) {
      const WaitSite& site = *sites_[i];
      if (site.kernel_wakers.empty()) continue;
      std::vector<std::pair<std::uint64_t, KernelWaker>> wakers;
      for (const auto& [waker, count] : site.kernel_wakers) wakers.push_back({count, waker});
      std::stable_sort(wakers.begin(), wakers.end(), [](const auto& l, const auto& r) { return l.first > r.first; });
      std::string text =
          fmt::format("{} in {}, as the kernel saw it, was ended by", site.function, role_name(site.role));
      for (std::size_t k = 0; k < std::min(wakers.size(), kShortWakers); ++k)
        text += fmt::format("{} {} × {}", k == 0 ? "" : ",", waker_text(wakers[k].second), grouped(wakers[k].first));
      if (wakers.size() > kShortWakers) text += fmt::format(" and {} more (--json)", wakers.size() - kShortWakers);
      add(wrapped(text, "  ", "    "));
    }
  }

  static std::string waker_text(const KernelWaker& waker) {
    const std::string name = waker.name.empty() ? "?" : printable(waker.name);
    if (!waker.interrupt) return fmt::format("{} (pid {})", name, waker.pid);
    return waker.name.empty() ? "an interrupt" : "the interrupt " + name;
  }

  void write_progress() {
    if (process_.progress.empty()) return;
    line("");
    line("{} {} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}", left("NCCL progress", 16), left("communicator", 12),
         "polls", "p50", "p99", "max", "stalls", "no CPU", "moved");
    for (const ProgressAnswer& thread : process_.progress) {
      line("{} {} {} {} {} {} {} {} {:>6}", left(thread.name, 16),
           left(thread.communicator.empty() ? "?" : thread.communicator.substr(0, 8), 12),
           right(compact(thread.poll.count()), 7), right(duration_text(thread.poll.percentile_ns(50)), 7),
           right(duration_text(thread.poll.percentile_ns(99)), 7), right(duration_text(thread.poll.max_ns()), 7),
           right(compact(thread.stalls), 7), right(thread.run_delay_ms ? ms_text(*thread.run_delay_ms) : "?", 7),
           thread.migrations);
    }
  }

  void write_threads() {
    line("");
    line("{} {} {:>7} {:>7} {:>7} {:>7} {:>8} {:>6} {}", left("Threads", 13), left("name", 15), "tid", "CPU", "waiting",
         "no CPU", "records", "lost", "runs");
    std::vector<const ThreadAnswer*> others;
    std::size_t shown = 0;
    for (const ThreadAnswer& thread : process_.threads) {
      if (shown < shown_.threads && (detail_ == Detail::kAll || !is_idle(thread))) {
        write_thread(thread);
        ++shown;
      } else {
        others.push_back(&thread);
      }
    }
    write_others(others);
  }

  void write_thread(const ThreadAnswer& thread) {
    const ThreadTime& time = thread.time;
    line("{} {} {:>7} {} {} {} {:>8} {:>6} {}", left(role_name(thread.role), 13), left(thread.name, 15), thread.tid,
         right(time.cpu_ms ? ms_text(*time.cpu_ms) : "?", 7), right(ms_text(time.wait_ms), 7),
         right(time.run_delay_ms ? ms_text(*time.run_delay_ms) : "?", 7), thread.records, thread.lost,
         thread.merged > 0 ? fmt::format("{} threads, merged", thread.merged) : shortened(thread.runs, 22));
  }

  void write_others(const std::vector<const ThreadAnswer*>& threads) {
    if (threads.empty()) return;
    std::map<Role, std::size_t> roles;
    double cpu_ms = 0;
    bool all_idle = true;
    std::uint64_t lost = 0;
    for (const ThreadAnswer* thread : threads) {
      ++roles[thread->role];
      cpu_ms += thread->time.cpu_ms.value_or(0);
      all_idle = all_idle && is_idle(*thread);
      lost += thread->lost;
    }
    std::string names;
    for (const auto& [role, count] : roles)
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", count, role_name(role));
    add(wrapped(fmt::format("… and {}{} (--all): {} · CPU {}{}", threads.size(), all_idle ? " idle" : " more", names,
                            ms_text(cpu_ms), lost > 0 ? fmt::format(" · lost {}", lost) : ""),
                "  ", "    "));
  }

  const RunAnswer& run_;
  const ProcessAnswer& process_;
  std::vector<const WaitSite*> sites_;
  Detail detail_;
  Shown shown_;
};

}  // namespace

std::string process_text(const RunAnswer& run, const ProcessAnswer& process, Detail detail) {
  return ProcessSection(run, process, detail).write();
}

std::string heaviest_wait_text(const ProcessAnswer& process) {
  const std::vector<const WaitSite*> sites = ordered_sites(process);
  if (sites.empty()) return "-";
  const WaitSite& site = *sites.front();
  return fmt::format("{:.0f} % {}", site.share_pct, site.python.empty() ? site.function : site.python.front().text);
}

}  // namespace hostprobe::analysis
