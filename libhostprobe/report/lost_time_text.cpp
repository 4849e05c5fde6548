// lost_time_text.cpp: see lost_time_text.h.
#include "lost_time_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "advice_text.h"
#include "answer/step_time.h"
#include "answer/telling_frames.h"
#include "answer/wait.h"
#include "columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

// "{who} loses 12 % of each step …"
const char* usual_how(Cause cause) {
  switch (reported_cause(cause)) {
#define HP_CAUSE(Name, id, least_pct, fix, how, advice) \
  case Cause::k##Name:                                  \
    return how;
#include "hostprobe/causes.def"
    default:
      return "";
  }
}

bool sleeps(const Finding& finding) {
  return finding.cause == Cause::kHostWork && finding.site && finding.site->kind == CallKind::kSleep;
}

bool is_callback(const Finding& finding) {
  return finding.cause == Cause::kHostWork && finding.site && finding.site->kind == CallKind::kCallback;
}

bool is_for_disk(const Finding& finding) { return finding.site && finding.site->function == kPageFault; }

std::string advice_of(const Finding& finding) {
  if (finding.cause == Cause::kCpuContention)
    if (std::string advice = supply_advice(finding); !advice.empty()) return advice;
  if (std::string advice = fix_text(finding); !advice.empty()) return advice;
  if (finding.cause == Cause::kProcessStopped) return usual_advice(finding.cause);
  if (finding.cause == Cause::kPythonOverhead && finding.without_gpu)
    return "do less of it in a step, or in another process";
  if (sleeps(finding)) return "sleep less there, or wait for what it sleeps for";
  if (is_for_disk(finding)) return "read the files ahead (readahead, MADV_WILLNEED), or on another thread";
  if (is_callback(finding)) return "let it hand that work to a thread, and return";
  // A thread that is known, in this process, and no workers.
  const bool is_thread = !holder_text(finding.evidence).empty() && finding.evidence.find<WorkersEvidence>() == nullptr;
  if (finding.cause == Cause::kDataloaderWait && is_thread)
    return "look at how that thread makes samples, or use more of them";
  if (finding.cause == Cause::kDataloaderWait) return loader_advice(finding.evidence);
  if (const auto& moved = finding.evidence.of<TransferEvidence>(); moved.usual_bus_gb_s || moved.pcie_bus_gb_s)
    return "look at the links of the ranks in it, and at which way NCCL takes";
  return usual_advice(finding.cause);
}

// By samples of a thread that was in no call.
std::string sampled_place(const Finding& finding) {
  const FindingSite& site = *finding.site;
  const bool is_python = !site.stack.empty() && (finding.cause == Cause::kPythonOverhead || finding.without_gpu);
  std::string place = is_python ? shortened(printable(site.stack.front()), 80)
                      : site.function.empty()
                          ? printable(site.library)
                          : fmt::format("{} ({})", shortened(printable(site.function), 60), printable(site.library));
  if (!is_python && !site.stack.empty()) place += ", called from " + shortened(printable(site.stack.front()), 60);
  const std::string caller = is_python ? calling_place(site.stack) : "";
  if (!caller.empty()) place += ", called from " + shortened(printable(caller), 60);
  return fmt::format(", {:.0f} % of its samples in {}", finding.evidence.of<SamplesEvidence>().site_pct, place);
}

// What is moved, and how quickly.
std::string transfer_text(const Finding& finding) {
  const TransferEvidence& moved = finding.evidence.of<TransferEvidence>();
  std::string text = fmt::format(" in {}, {} at {:.3g} GB/s", printable(finding.site->function),
                                 bytes_text(moved.bytes), moved.bus_gb_s);
  if (moved.usual_bus_gb_s) text += fmt::format(", {:.3g} GB/s on other communicators", *moved.usual_bus_gb_s);
  if (moved.pcie_bus_gb_s) text += fmt::format(", over PCIe 3.0 it would be {:.3g} GB/s", *moved.pcie_bus_gb_s);
  return text;
}

// The heaviest place of it.
std::string heaviest_place(const Finding& finding) {
  if (!finding.site) return {};
  if (finding.evidence.find<TransferEvidence>() != nullptr) return transfer_text(finding);
  if (finding.evidence.find<SamplesEvidence>() != nullptr) return sampled_place(finding);
  std::string place;
  const std::string frame = telling_place(finding.site->stack);
  if (frame.find('(') != std::string::npos)
    place = " in " + shortened(printable(frame), 80);
  else if (!finding.site->function.empty())
    place = fmt::format(" in {}", printable(finding.site->function));
  const std::string& awaited = finding.evidence.of<AwaitedEvidence>().awaited;
  const bool has_name = finding.cause == Cause::kFileIo || finding.cause == Cause::kRemoteWait;
  if (has_name && !awaited.empty()) place += ", most of it for " + shortened(printable(awaited), 80);
  const std::string holder = holder_text(finding.evidence);
  if (!holder.empty()) place += ", most of it for " + holder;
  return place;
}

// What a wait is for at least, by its function.
std::string unexplained_text(const Finding& finding) {
  const std::string function = finding.site ? printable(finding.site->function) : "";
  switch (finding.site ? finding.site->kind : CallKind::kOther) {
    case CallKind::kChild:
      return fmt::format("waiting for a child process to end ({})", function);
    case CallKind::kRead:
      return fmt::format("waiting for what somebody else is to send ({})", function);
    case CallKind::kWrite:
      return fmt::format("waiting until what it writes is taken ({})", function);
    default:
      return usual_how(finding.cause);
  }
}

std::string how_text(const Finding& finding) {
  if (finding.cause == Cause::kUnexplained) return unexplained_text(finding);
  if (sleeps(finding)) return finding.site->role == Role::kMain ? "asleep" : "waiting for a thread that sleeps";
  if (is_for_disk(finding)) return "waiting for pages of mapped files";
  if (is_callback(finding)) return "while the GPU waits for a function on the host";
  return usual_how(finding.cause);
}

std::string duration_of(const Finding& finding) {
  if (!finding.ms_per_step) return {};
  return fmt::format(" ({}{})", duration_text(1e6 * *finding.ms_per_step), finding.of_one_step ? "" : " each");
}

}  // namespace

static const char* limit_text(GainLimit limit) {
  switch (limit) {
    case GainLimit::kNone:
      return "";
    case GainLimit::kGpu:
      return ": behind it the GPU is the limit";
    case GainLimit::kTransfers:
      return ": behind it transfers between ranks are the limit";
    case GainLimit::kHost:
      return ": behind it other work on the host is the limit";
  }
  return "";
}

static std::string gain_text(const Finding& finding) {
  if (!finding.gain_pct) return {};
  const char* limit = limit_text(finding.gain_limit);
  if (!finding.gain_low_pct || !finding.gain_high_pct)
    return fmt::format(" Expected gain {:.0f} %{}.", *finding.gain_pct, limit);
  return fmt::format(" Expected gain {:.0f} % ({:.0f} to {:.0f}){}.", *finding.gain_pct, *finding.gain_low_pct,
                     *finding.gain_high_pct, limit);
}

std::string lost_time_text(const Finding& finding, const std::string& who) {
  const std::string advice = advice_of(finding);
  const char* whole = finding.of_one_step ? "the step" : finding.of_steps ? "its steps" : "its time";
  return fmt::format("{} loses {:.0f} % of {}{} {}{}{}.{}", who, finding.share_pct, whole, duration_of(finding),
                     how_text(finding), heaviest_place(finding), advice.empty() ? "" : ": " + advice,
                     gain_text(finding));
}

}  // namespace hostprobe::analysis
