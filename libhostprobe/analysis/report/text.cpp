// text.cpp: see text.h.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "action_sentences.h"
#include "analysis/findings/causes.h"
#include "finding_text.h"
#include "losses.h"
#include "stuck_text.h"
#include "words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kShortSites = 8;
constexpr std::size_t kShortThreads = 12;
constexpr double kDetailPct = 1.0;  // of wall time, from which on a wait is told in more detail

std::string left(std::string_view text, std::size_t width) {
  std::string result = shortened(text, width);
  result.append(width - std::min(width, columns(result)), ' ');
  return result;
}

std::string right(std::string_view text, std::size_t width) {
  const std::size_t taken = columns(text);
  return std::string(width - std::min(width, taken), ' ') + std::string(text);
}

std::string compact(std::uint64_t number) {
  return number < 10'000'000 ? std::to_string(number) : fmt::format("{:.1f}M", 1e-6 * static_cast<double>(number));
}

std::string bytes_text(std::uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string ms_text(double ms) { return duration_text(ms * 1e6); }

std::string plural(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// Breaks at blanks; following lines are indented.
std::string wrapped(const std::string& text, const std::string& first, const std::string& next) {
  std::string result, line = first;
  std::size_t at = 0;
  bool empty = true;
  while (at < text.size()) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, blank - at);
    if (!empty && columns(line) + 1 + columns(word) > kWidth) {
      result += line + "\n";
      line = next;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = blank + 1;
  }
  return result + line + "\n";
}

class TextReport {
 public:
  TextReport(const RunAnswer& run, const TextOptions& options) : run_(run), options_(options) {}

  std::string write() {
    write_head();
    write_losses();
    write_stuck();
    write_headline();
    const bool any_rank = run_.ranks > 0;
    std::vector<const ProcessAnswer*> brief;
    for (const ProcessAnswer& process : run_.processes) {
      const bool full =
          options_.all || (any_rank ? process.kind == ProcessKind::kRank : process.kind != ProcessKind::kWorker);
      if (full) {
        write_process(process);
      } else {
        brief.push_back(&process);
      }
    }
    if (!brief.empty()) write_brief(brief);
    write_collectives();
    write_actions();
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    text.erase(text.find_last_not_of(' ') + 1);
    out_ += text + "\n";
  }

  void write_head() {
    std::size_t workers = 0, others = 0;
    for (const ProcessAnswer& process : run_.processes) {
      workers += process.kind == ProcessKind::kWorker;
      others += process.kind == ProcessKind::kOther;
    }
    std::string what;
    const auto add = [&what](const std::string& part) { what += (what.empty() ? "" : ", ") + part; };
    if (run_.ranks > 0) add(plural(run_.ranks, "rank", "ranks"));
    if (others > 0)
      add(run_.ranks > 0 ? plural(others, "other process", "other processes") : plural(others, "process", "processes"));
    if (workers > 0) add(plural(workers, "forked worker", "forked workers"));
    if (what.empty()) what = "no process that could be read";
    line("hostprobe report {}", printable(run_.path));
    // A profile need not name its host.
    const std::string where = run_.hosts.empty() ? "" : " on " + plural(run_.hosts.size(), "host", "hosts");
    line("{}{} · {:.2f} s · started {} · mode {}", what, where, run_.wall_s,
         run_.started().empty() ? "?" : run_.started(), run_.mode.empty() ? "?" : printable(run_.mode));
    write_steps();
  }

  void write_steps() {
    const auto lengths = [](const StepLengths& all) {
      return fmt::format("median {}, p99 {}, max {}", duration_text(all.median_ns), duration_text(all.p99_ns),
                         duration_text(all.max_ns));
    };
    if (run_.steps.lengths.count == 0) return;
    line("{} steps{} · {}", grouped(run_.steps.lengths.count),
         run_.steps.source == StepSource::kDetected ? ", as calls repeat" : "", lengths(run_.steps.lengths));
    if (run_.start_up_ms) line("start-up {} until the first of them", ms_text(*run_.start_up_ms));
    if (run_.steps.types.size() < 2) return;
    for (const StepTypeAnswer& type : run_.steps.types)
      line("  {} {:>9} · {}", left(type.name, 12), grouped(type.lengths.count), lengths(type.lengths));
  }

  void write_losses() {
    const std::vector<std::string> sentences = loss_sentences(run_);
    if (sentences.empty()) return;
    line("");
    line("LOST OR DAMAGED");
    for (const std::string& sentence : sentences) out_ += wrapped(sentence, "  ! ", "    ");
  }

  void write_stuck() {
    if (run_.stuck.empty()) return;
    line("");
    line("STUCK");
    for (const StuckCollective& stuck : run_.stuck) out_ += wrapped(stuck_text(stuck), "  ! ", "    ");
  }

  void write_headline() {
    line("");
    line("WHAT TO DO NOW");
    int number = 0;
    for (const std::string& sentence : headline(run_, find_causes(run_)))
      out_ += wrapped(sentence, fmt::format("  {}. ", ++number), "     ");
  }

  // Folders of the interpreter and the script take the place that their arguments need.
  static std::string short_command(const ProcessAnswer& process) {
    std::string text, word;
    std::istringstream words(process.command.empty() ? process.program : process.command);
    while (words >> word) {
      if (!text.empty()) text += ' ';
      text += word.starts_with('/') ? base_name(word) : word;
    }
    return text;
  }

  std::string title(const ProcessAnswer& process) const {
    std::string name = process.kind == ProcessKind::kRank     ? fmt::format("RANK {}", process.rank.value_or(0))
                       : process.kind == ProcessKind::kWorker ? "WORKER"
                                                              : "PROCESS";
    if (process.kind == ProcessKind::kWorker && process.rank) name += fmt::format(" of rank {}", *process.rank);
    name += fmt::format(" · pid {}", process.pid);
    if (run_.hosts.size() > 1) name += " · " + printable(process.host);
    if (process.end == EndState::kRunning) name += " · running";
    if (process.end == EndState::kKilled) name += " · killed, or left by the bare system call";
    if (process.end == EndState::kRecovered)
      name += " · killed, or left by the bare system call; what it had recorded is here";
    return name + " · " + shortened(short_command(process), kWidth - std::min(kWidth - 20, columns(name) + 3));
  }

  void write_process(const ProcessAnswer& process) {
    line("");
    line("{}", title(process));
    const std::string cost =
        process.own_cost ? fmt::format("{:.2f} %", process.wall_share(process.own_cost->total_ms())) : "not measured";
    line("wall {} · CPU {} · records {} · lost {} · hostprobe's own cost {}", ms_text(process.wall_ms),
         process.cpu_ms ? ms_text(*process.cpu_ms) : "not measured", grouped(process.records), grouped(process.lost),
         cost);
    if (const std::string seen = visible_part(process); !seen.empty()) out_ += wrapped(seen, "", "  ");
    write_launches(process);
    write_waits(process);
    write_wakes(process);
    write_progress(process);
    write_threads(process);
  }

  void write_launches(const ProcessAnswer& process) {
    const LaunchAnswer& launches = process.launches;
    if (launches.call.count() > 0) {
      line("");
      line("Launches {}, {} kernels, by {} · call p50 {}, p99 {}", grouped(launches.call.count()),
           grouped(launches.kernels), role_name(launches.role), duration_text(launches.call.percentile_ns(50)),
           duration_text(launches.call.percentile_ns(99)));
      if (launches.gap.count() > 0) {
        line("  gap to the next launch p50 {}, p99 {}, max {}{}", duration_text(launches.gap.percentile_ns(50)),
             duration_text(launches.gap.percentile_ns(99)), duration_text(launches.gap.max_ns()),
             launches.gaps_unknown > 0
                 ? fmt::format(" ({} unknown: launches before them are missing)", launches.gaps_unknown)
                 : "");
      }
      for (const auto& [name, count] : launches.by_function) line("  {:<34} {:>9}", printable(name), count);
    }
    if (process.syncs.time.count() == 0) return;
    const Histogram& time = process.syncs.time;
    line("GPU synchronisations {} · total {} ({:.1f} % of wall) · p50 {}, p99 {}, max {}", grouped(time.count()),
         duration_text(time.total_ns()), process.syncs.share_pct, duration_text(time.percentile_ns(50)),
         duration_text(time.percentile_ns(99)), duration_text(time.max_ns()));
    for (const auto& [name, count] : process.syncs.by_function) line("  {:<34} {:>9}", printable(name), count);
  }

  std::size_t shown_sites(std::size_t count) const { return options_.all ? count : std::min(count, kShortSites); }

  static std::string site_columns(const WaitSite& site) {
    return left(site.function, 22) + " " + left(site.library, 16) + " " + left(role_name(site.role), 13);
  }

  void write_waits(const ProcessAnswer& process) {
    if (process.waits.empty()) return;
    line("");
    line("{} {} {} {:>7} {:>7} {:>5} {:>7} {:>7} {:>7}", left("Waits", 22), left("called from", 16),
         left("thread role", 13), "count", "total", "%wall", "p50", "p99", "max");
    const std::size_t shown = shown_sites(process.waits.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const WaitSite& site = process.waits[i];
      const double pct = site.share_pct;
      line("{} {} {} {:>5.1f} {} {} {}", site_columns(site), right(compact(site.time.count()), 7),
           right(duration_text(site.time.total_ns()), 7), pct, right(duration_text(site.time.percentile_ns(50)), 7),
           right(duration_text(site.time.percentile_ns(99)), 7), right(duration_text(site.time.max_ns()), 7));
      if (pct >= kDetailPct) write_site_detail(site);
    }
    if (shown < process.waits.size()) line("  … and {} more (--all)", process.waits.size() - shown);
  }

  void write_site_detail(const WaitSite& site) {
    const double total_ms = 1e-6 * site.time.total_ns();
    if (const double ms = site.ms_for(WaitPurpose::kGil); ms > 0)
      line("    Python's interpreter lock (GIL): {}", ms_text(ms));
    // Code that Python's own lock functions stand for says nothing; its frames do.
    const bool python_waits = !site.python.empty() && is_python_library(site.library);
    if (!python_waits) write_places(site.code, total_ms, " % of it");
    write_places(site.python, site.sampled_ms, " % of the sampled time");
  }

  void write_places(const std::vector<WaitPlace>& places, double all_ms, const char* of_what) {
    std::size_t shown = 0;
    for (const WaitPlace& place : places) {
      const double pct = all_ms <= 0 ? 0 : std::min(100.0, 100.0 * place.total_ms / all_ms);
      if (shown++ == 2 || pct < 5) break;
      const std::string share = pct > 99.5 ? "" : fmt::format(" · {:.0f}{}", pct, of_what);
      line("    in {}{}", shortened(place.text, kWidth - 7 - columns(share)), share);
    }
  }

  void write_wakes(const ProcessAnswer& process) {
    const bool any =
        std::any_of(process.waits.begin(), process.waits.end(), [](const WaitSite& s) { return s.wake.count() > 0; });
    if (!any) return;
    line("");
    line("{} {} {} {:>7} {:>7} {:>7} {:>7} {}", left("Wake latency", 22), left("called from", 16),
         left("thread role", 13), "woken", "p50", "p99", "max", "woken by");
    const std::size_t shown = shown_sites(process.waits.size());
    for (std::size_t i = 0; i < shown; ++i) {
      const WaitSite& site = process.waits[i];
      if (site.wake.count() == 0) continue;
      line("{} {} {} {} {} {}", site_columns(site), right(compact(site.wake.count()), 7),
           right(duration_text(site.wake.percentile_ns(50)), 7), right(duration_text(site.wake.percentile_ns(99)), 7),
           right(duration_text(site.wake.max_ns()), 7), site.wakers.empty() ? "unknown" : role_name(site.main_waker()));
    }
  }

  void write_progress(const ProcessAnswer& process) {
    if (process.progress.empty()) return;
    line("");
    line("{} {} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6}", left("NCCL progress", 16), left("communicator", 12),
         "polls", "p50", "p99", "max", "stalls", "no CPU", "moved");
    for (const ProgressAnswer& thread : process.progress) {
      line("{} {} {} {} {} {} {} {} {:>6}", left(thread.name, 16),
           left(thread.communicator.empty() ? "?" : thread.communicator.substr(0, 8), 12),
           right(compact(thread.poll.count()), 7), right(duration_text(thread.poll.percentile_ns(50)), 7),
           right(duration_text(thread.poll.percentile_ns(99)), 7), right(duration_text(thread.poll.max_ns()), 7),
           right(compact(thread.stalls), 7), right(thread.run_delay_ms ? ms_text(*thread.run_delay_ms) : "?", 7),
           thread.migrations);
    }
  }

  void write_threads(const ProcessAnswer& process) {
    line("");
    line("{} {} {:>7} {:>7} {:>7} {:>7} {:>8} {:>6} {}", left("Threads", 13), left("name", 15), "tid", "CPU", "waiting",
         "no CPU", "records", "lost", "runs");
    const std::size_t count = process.threads.size();
    const std::size_t shown = options_.all ? count : std::min(count, kShortThreads);
    for (std::size_t i = 0; i < shown; ++i) {
      const ThreadAnswer& thread = process.threads[i];
      line("{} {} {:>7} {} {} {} {:>8} {:>6} {}", left(role_name(thread.role), 13), left(thread.name, 15), thread.tid,
           right(thread.time.cpu_ms ? ms_text(*thread.time.cpu_ms) : "?", 7), right(ms_text(thread.time.wait_ms), 7),
           right(thread.time.run_delay_ms ? ms_text(*thread.time.run_delay_ms) : "?", 7), thread.records, thread.lost,
           thread.merged > 0 ? fmt::format("{} threads, merged", thread.merged) : shortened(thread.runs, 22));
    }
    if (shown < count) line("  … and {} more (--all)", count - shown);
  }

  // The heaviest wait of a process in one phrase.
  static std::string heaviest(const ProcessAnswer& process) {
    if (process.waits.empty()) return "-";
    const WaitSite& site = process.waits.front();
    return fmt::format("{:.0f} % {}", site.share_pct, site.python.empty() ? site.function : site.python.front().text);
  }

  void write_brief(const std::vector<const ProcessAnswer*>& processes) {
    line("");
    line("{} {:>7} {:>4} {:>7} {:>7} {:>8} {:>6} {:>6}  {}", left("Others (--all)", 14), "pid", "rank", "wall", "CPU",
         "records", "lost", "cost %", "heaviest wait");
    for (const ProcessAnswer* process : processes) {
      const std::string cost =
          process->own_cost ? fmt::format("{:.2f}", process->wall_share(process->own_cost->total_ms())) : "?";
      line("{} {:>7} {:>4} {} {} {:>8} {:>6} {:>6}  {}", left(kind_name(process->kind), 14), process->pid,
           process->rank ? std::to_string(*process->rank) : "-", right(ms_text(process->wall_ms), 7),
           right(process->cpu_ms ? ms_text(*process->cpu_ms) : "?", 7), process->records, process->lost, cost,
           shortened(heaviest(*process), 31));
    }
  }

  // A rank that is nearly always last is what the others wait for; with two ranks one of them is last half the time.
  static std::string last_text(const CollectiveAnswer& collective) {
    if (!collective.last_rank) return "";
    return fmt::format("rank {} in {:.0f} %", *collective.last_rank, collective.last_share_pct);
  }

  void write_collectives() {
    if (run_.collectives.empty()) return;
    line("");
    line("COLLECTIVES · all ranks together; skew is from the first rank's arrival to the last one's");
    line("{} {} {:>5} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}  {}", left("operation", 13), left("communicator", 12),
         "ranks", "count", "bytes", "host p50", "host p99", "skew p50", "skew p99", "most often last");
    const std::size_t shown = options_.all ? run_.collectives.size() : std::min(run_.collectives.size(), kShortThreads);
    for (std::size_t i = 0; i < shown; ++i) {
      const CollectiveAnswer& one = run_.collectives[i];
      const bool skew = one.skew.count() > 0;
      line("{} {} {:>5} {:>7} {:>9} {} {} {} {}  {}", left(one.operation, 13),
           left(one.communicator.empty() ? "?" : one.communicator.substr(0, 8), 12), one.ranks, compact(one.count),
           bytes_text(one.bytes), right(duration_text(one.host.percentile_ns(50)), 8),
           right(duration_text(one.host.percentile_ns(99)), 8),
           right(skew ? duration_text(one.skew.percentile_ns(50)) : "-", 8),
           right(skew ? duration_text(one.skew.percentile_ns(99)) : "-", 8), last_text(one));
    }
    if (shown < run_.collectives.size()) line("  … and {} more (--all)", run_.collectives.size() - shown);
  }

  void write_actions() {
    const std::vector<std::string> sentences = action_sentences(run_, options_.all);
    if (sentences.empty()) return;
    line("");
    line("WHAT HOSTPROBE DID");
    for (const std::string& sentence : sentences) out_ += wrapped(sentence, "  ", "    ");
  }

  const RunAnswer& run_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string report_text(const RunAnswer& run, const TextOptions& options) { return TextReport(run, options).write(); }

}  // namespace hostprobe::analysis
