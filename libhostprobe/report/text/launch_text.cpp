// launch_text.cpp: see launch_text.h.
#include "launch_text.h"

#include <fmt/format.h>

#include "report/columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

class LaunchText : private Lines {
 public:
  LaunchText(const ProcessAnswer& process, bool functions, std::size_t width)
      : process_(process), functions_(functions), width_(width) {}

  std::string write() {
    write_launches();
    write_syncs();
    write_gpu();
    return take();
  }

 private:
  void say(const std::string& text) { add(wrapped(text, "", "  ", width_)); }

  void write_counts(const std::map<std::string, std::uint64_t>& by_function) {
    if (!functions_) return;
    for (const auto& [name, count] : by_function) line("  {:<34} {:>9}", printable(name), grouped(count));
  }

  void write_launches() {
    const LaunchAnswer& launches = process_.launches;
    if (launches.call.count() == 0) return;
    say(fmt::format(
        "Launches {}, {} kernels{}, by {} · a call takes {} (p50), {} (p99)", grouped(launches.call.count()),
        launches.kernels ? grouped(*launches.kernels) : "not known how many",
        launches.captured > 0 ? fmt::format(", {} more captured into graphs", grouped(launches.captured)) : "",
        role_name(launches.role), duration_text(launches.call.percentile_ns(50)),
        duration_text(launches.call.percentile_ns(99))));
    if (launches.gap.count() > 0)
      line("  gap to the next launch p50 {}, p99 {}, max {}{}", duration_text(launches.gap.percentile_ns(50)),
           duration_text(launches.gap.percentile_ns(99)), duration_text(launches.gap.max_ns()),
           launches.gaps_unknown > 0
               ? fmt::format(" ({} unknown: launches before them are missing)", launches.gaps_unknown)
               : "");
    write_counts(launches.by_function);
  }

  void write_syncs() {
    if (process_.syncs.time.count() == 0) return;
    const Histogram& time = process_.syncs.time;
    say(fmt::format(
        "GPU synchronisations {} · in all {} · p50 {}, p99 {}, max {} · {:.1f} % of the main thread's life, without "
        "what ran meanwhile",
        grouped(time.count()), duration_text(time.total_ns()), duration_text(time.percentile_ns(50)),
        duration_text(time.percentile_ns(99)), duration_text(time.max_ns()), process_.syncs.share_pct));
    write_counts(process_.syncs.by_function);
  }

  // How sure that is stands beside it; of what is exact nothing has to.
  void write_gpu() {
    const GpuAnswer& gpu = process_.gpu;
    if (!gpu.idle_in_steps_pct) return;
    const std::string unknown = gpu.unknown_pct >= 0.5 ? fmt::format(", {:.0f} % not known", gpu.unknown_pct) : "";
    if (gpu.source == ActivitySource::kEvents)
      say(fmt::format("GPU idle in steps {:.1f} % ± {:.1f}{} · by timing events of hostprobe's own",
                      *gpu.idle_in_steps_pct, gpu.idle_error_pct, unknown));
    else if (gpu.source == ActivitySource::kBounds)
      say(fmt::format("GPU idle in steps at least {:.1f} %{} · without timing events (HOSTPROBE_GPU)",
                      *gpu.idle_in_steps_pct, unknown));
    else if (gpu.source == ActivitySource::kProfile)
      say(fmt::format("GPU idle in steps {:.1f} % · by a profile", *gpu.idle_in_steps_pct));
    if (gpu.check)
      say(fmt::format(
          "  checked by {} profiles of {}: busy {:.1f} %, by the replay {:.1f} %; at most {:.1f} points apart",
          grouped(gpu.check->profiles), duration_text(1e6 * gpu.check->ms), gpu.check->busy_pct,
          gpu.check->replayed_pct, gpu.check->worst_points));
  }

  const ProcessAnswer& process_;
  bool functions_;
  std::size_t width_;
};

}  // namespace

std::string launch_text(const ProcessAnswer& process, bool functions, std::size_t width) {
  return LaunchText(process, functions, width).write();
}

}  // namespace hostprobe::analysis
