// lost_time_text.cpp: see lost_time_text.h.
#include "lost_time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "answer/step_time.h"
#include "answer/telling_frames.h"
#include "answer/wait.h"
#include "columns.h"
#include "finding_text.h"
#include "words.h"

namespace hostprobe::analysis {
namespace {

struct Row {
  const char* cause;
  const char* how;     // "{who} loses 12 % of each step …"
  const char* advice;  // what to change, where there is no fix to turn on
};

constexpr Row kRows[] = {
    {"gc_pause", "while Python collects garbage", ""},
    {"gil_contention", "waiting for Python's interpreter lock", ""},
    {"lock_contention", "waiting for a lock", "hold it for less, or share less"},
    {"dataloader_wait", "waiting for the next batch", "look at how samples are made"},
    {"file_io", "in files", "read and write them on another thread, or less often"},
    {"python_overhead", "running Python", "do less of it between launches, or capture them in a graph"},
    {"host_work", "in work of its own", "move it to another thread, or do it less often"},
    {"launch_bound", "launching, while the GPU is already done", ""},
    {"sync_calls", "because it waits for the GPU and gives it more work only then", "synchronise less often"},
    {"alloc_stall", "allocating and freeing GPU memory", ""},
    {"pageable_copy", "in asynchronous copies that do not return at once", ""},
    {"jit_compile", "loading or building GPU code", "load it before the first step"},
    {"cpu_contention", "ready to run but without a CPU", ""},
    {"cpu_throttle", "because the CPU quota of its group was used up", "raise that quota"},
    {"process_stopped", "stopped from outside", ""},
    {"low_frequency", "because its CPUs ran slower than before, or than those of other ranks",
     "look at their power limit, their temperature and the frequency governor"},
    {"idle_state_exit", "between the moment a thread is woken and the moment it runs, with CPUs free",
     "hand over more at once, or poll before it sleeps there"},
    {"proxy_delay", "because its NCCL progress thread is late", ""},
    {"slow_gpu", "because its GPU takes longer for the same kernels", "look at that GPU's clocks and temperature"},
    {"comm_bandwidth", "moving data between ranks",
     "overlap it with work, send less, or compare its rate with nccl-tests"},
    {"waits_for_rank", "waiting for other ranks", ""},
    {"unexplained", "waiting, and nothing shows for what", "look at what it waits for there"},
};

const Row* row_of(const std::string& cause) {
  const auto found =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.cause == cause; });
  return found == std::end(kRows) ? nullptr : found;
}

bool sleeps(const Finding& finding) {
  return finding.cause == "host_work" && finding.site && is_sleep(finding.site->function);
}

bool is_callback(const Finding& finding) {
  return finding.cause == "host_work" && finding.site && calls_back(finding.site->function);
}

bool is_page_fault(const Finding& finding) { return finding.site && finding.site->function == kPageFault; }

std::string advice_of(const Finding& finding, const Row* row) {
  if (std::string advice = fix_text(finding); !advice.empty()) return advice;
  if (finding.cause == "process_stopped") return stop_advice();
  if (finding.cause == "python_overhead" && finding.without_gpu)
    return "do less of it in a step, or in another process";
  if (sleeps(finding)) return "sleep less there, or wait for what it sleeps for";
  if (is_page_fault(finding)) return "read the files ahead (readahead, MADV_WILLNEED), or on another thread";
  if (is_callback(finding)) return "let it hand that work to a thread, and return";
  // A thread that is known, in this process, and no workers.
  const bool is_thread = !finding.evidence.text("held_by").empty() && finding.evidence.count("workers") == 0;
  if (finding.cause == "dataloader_wait" && is_thread)
    return "look at how that thread makes samples, or use more of them";
  if (finding.cause == "dataloader_wait") return loader_advice(finding.evidence);
  if (finding.evidence.number("usual_bus_gb_s") > 0 || finding.evidence.number("pcie_bus_gb_s") > 0)
    return "look at the links of the ranks in it, and at which way NCCL takes";
  return row == nullptr ? "" : row->advice;
}

// By samples of a thread that was in no call.
std::string sampled_place(const Finding& finding) {
  const FindingSite& site = *finding.site;
  const bool is_python = !site.stack.empty() && (finding.cause == "python_overhead" || finding.without_gpu);
  std::string place = is_python ? shortened(printable(site.stack.front()), 80)
                      : site.function.empty()
                          ? printable(site.library)
                          : fmt::format("{} ({})", shortened(printable(site.function), 60), printable(site.library));
  if (!is_python && !site.stack.empty()) place += ", called from " + shortened(printable(site.stack.front()), 60);
  const std::string caller = is_python ? calling_place(site.stack) : "";
  if (!caller.empty()) place += ", called from " + shortened(printable(caller), 60);
  return fmt::format(", {:.0f} % of its samples in {}", finding.evidence.number("site_pct"), place);
}

// What is moved, and how quickly.
std::string transfer_text(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  std::string text = fmt::format(" in {}, {} at {:.3g} GB/s", printable(finding.site->function),
                                 bytes_text(evidence.count("bytes")), evidence.number("bus_gb_s"));
  if (const double usual = evidence.number("usual_bus_gb_s"); usual > 0)
    text += fmt::format(", {:.3g} GB/s on other communicators", usual);
  if (const double pcie = evidence.number("pcie_bus_gb_s"); pcie > 0)
    text += fmt::format(", over PCIe 3.0 it would be {:.3g} GB/s", pcie);
  return text;
}

// The heaviest place of it.
std::string place_of(const Finding& finding) {
  if (!finding.site) return {};
  if (finding.evidence.number("transfer_us") > 0) return transfer_text(finding);
  if (finding.evidence.count("samples") > 0) return sampled_place(finding);
  std::string place;
  const std::string frame = telling_place(finding.site->stack);
  if (frame.find('(') != std::string::npos)
    place = " in " + shortened(printable(frame), 80);
  else if (!finding.site->function.empty())
    place = fmt::format(" in {}", printable(finding.site->function));
  const std::string holder = holder_text(finding.evidence);
  if (!holder.empty()) place += ", most of it for " + holder;
  return place;
}

// What a wait is for at least, by its function.
std::string unexplained_text(const Finding& finding) {
  const std::string function = finding.site ? finding.site->function : "";
  const auto is_one_of = [&function](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return function.starts_with(name); });
  };
  if (waits_for_child(function)) return fmt::format("waiting for a child process to end ({})", printable(function));
  if (is_one_of({"recv", "accept", "connect", "read", "__read", "poll", "ppoll", "select", "pselect", "epoll"}))
    return fmt::format("waiting for what somebody else is to send ({})", printable(function));
  if (is_one_of({"write", "__write", "send", "__send"}))
    return fmt::format("waiting until what it writes is taken ({})", printable(function));
  return row_of(finding.cause)->how;
}

std::string how_text(const Finding& finding, const Row* row) {
  if (finding.cause == "unexplained") return unexplained_text(finding);
  if (sleeps(finding)) return finding.site->role == Role::kMain ? "asleep" : "waiting for a thread that sleeps";
  if (is_page_fault(finding)) return "waiting for pages of mapped files";
  if (is_callback(finding)) return "while the GPU waits for a function on the host";
  return row == nullptr ? finding.cause : row->how;
}

std::string duration_of(const Finding& finding) {
  if (!finding.ms_per_step) return {};
  return fmt::format(" ({}{})", duration_text(1e6 * *finding.ms_per_step), finding.of_one_step ? "" : " each");
}

}  // namespace

static std::string gain_text(const Finding& finding) {
  if (!finding.gain_pct) return {};
  if (!finding.gain_low_pct || !finding.gain_high_pct)
    return fmt::format(" Expected gain {:.0f} %.", *finding.gain_pct);
  return fmt::format(" Expected gain {:.0f} % ({:.0f} to {:.0f}).", *finding.gain_pct, *finding.gain_low_pct,
                     *finding.gain_high_pct);
}

std::string lost_time_text(const Finding& finding, const std::string& who) {
  const Row* row = row_of(finding.cause);
  const std::string advice = advice_of(finding, row);
  const char* whole = finding.of_one_step ? "the step" : finding.of_steps ? "its steps" : "its time";
  return fmt::format("{} loses {:.0f} % of {}{} {}{}{}.{}", who, finding.share_pct, whole, duration_of(finding),
                     how_text(finding, row), place_of(finding), advice.empty() ? "" : ": " + advice,
                     gain_text(finding));
}

}  // namespace hostprobe::analysis
