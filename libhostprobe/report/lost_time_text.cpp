// lost_time_text.cpp: see lost_time_text.h.
#include "lost_time_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "answer/step_time.h"
#include "answer/telling_frames.h"
#include "answer/wait.h"
#include "columns.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kPlaceWidth = 64;

// "Rank 3 spends 12 % of each step …"
const char* usual_how(Cause cause) {
  switch (reported_cause(cause)) {
#define HP_CAUSE(Name, id, title, least_pct, fix, how, advice) \
  case Cause::k##Name:                                         \
    return how;
#include "hostprobe/causes.def"
    default:
      return "";
  }
}

bool is_own_call(const Finding& finding, CallKind kind) {
  return finding.cause == Cause::kHostWork && finding.site && finding.site->kind == kind;
}

bool sleeps(const Finding& finding) { return is_own_call(finding, CallKind::kSleep); }
bool is_callback(const Finding& finding) { return is_own_call(finding, CallKind::kCallback); }

// The program asks for it at the finding's site.
bool is_request(const Finding& finding) { return finding.cause == Cause::kGcPause && finding.fix == Fix::kNoCollect; }

// By the workers of a loader: the step itself reads nothing.
bool is_of_workers(const Finding& finding) {
  return finding.cause == Cause::kFileIo && finding.site && finding.site->role == Role::kDataloader;
}
// By another thread, for which the one that makes the steps waits there; "": by that one itself.
const std::string& held_up(const Finding& finding) { return finding.evidence.of<StepsEvidence>().held_up; }
bool is_of_thread(const Finding& finding) {
  return finding.cause == Cause::kFileIo && !is_of_workers(finding) && !held_up(finding).empty();
}

bool is_for_disk(const Finding& finding) { return finding.site && finding.site->function == kPageFault; }

// A thread that is known, in this process, and no workers.
bool is_for_thread(const Finding& finding) {
  return !holder_text(finding.evidence).empty() && finding.evidence.find<WorkersEvidence>() == nullptr;
}

std::string place_text(const std::string& place) { return shortened_place(place, kPlaceWidth); }

// By samples of a thread that was in no call.
std::string sampled_text(const Finding& finding) {
  const FindingSite& site = *finding.site;
  const bool is_python = !site.stack.empty() && (finding.cause == Cause::kPythonOverhead || finding.without_gpu);
  std::string place = is_python               ? place_text(site.stack.front())
                      : site.function.empty() ? printable(site.library)
                                              : place_text(fmt::format("{} ({})", site.function, site.library));
  if (!is_python && !site.stack.empty()) place += ", called from " + place_text(site.stack.front());
  const std::string caller = is_python ? calling_place(site.stack) : "";
  if (!caller.empty()) place += ", called from " + place_text(caller);
  return fmt::format("{:.0f} % of its samples are in {}", finding.evidence.of<SamplesEvidence>().site_pct, place);
}

// What is moved, and how quickly.
std::string transfer_text(const TransferEvidence& moved) {
  std::string text = fmt::format("{} move at {:.3g} GB/s", bytes_text(moved.bytes), moved.bus_gb_s);
  if (moved.usual_bus_gb_s) text += fmt::format(", {:.3g} GB/s on other communicators", *moved.usual_bus_gb_s);
  if (moved.pcie_bus_gb_s) text += fmt::format("; over PCIe 3.0 it would be {:.3g} GB/s", *moved.pcie_bus_gb_s);
  return text;
}

// "": none is known. Threads and processes of Python begin in its own library, which is nobody's program.
std::string program_caller(const std::vector<std::string>& stack) {
  const std::string caller = calling_place(stack);
  for (const char* way : {"(threading.py:", "(process.py:", "(popen_", "(spawn.py:", "(runpy.py:", "(<frozen"})
    if (caller.find(way) != std::string::npos) return {};
  return caller;
}

// "read()": without the mark a call reads like a word of the sentence.
std::string call_name(const std::string& function) {
  const bool is_plain = std::all_of(function.begin(), function.end(),
                                    [](unsigned char one) { return std::isalnum(one) != 0 || one == '_'; });
  return printable(function) + (is_plain ? "()" : "");
}

// The heaviest place of it.
std::string heaviest_place(const Finding& finding) {
  if (!finding.site || finding.evidence.find<SamplesEvidence>() != nullptr) return {};
  if (finding.evidence.find<TransferEvidence>() != nullptr) return " in " + printable(finding.site->function);
  const std::string frame = telling_place(finding.site->stack);
  if (frame.find('(') != std::string::npos) {
    // A frame of a library says what is done there; the program's own line is the one that can be changed.
    const std::string caller = program_caller(finding.site->stack);
    return " in " + place_text(frame) +
           (caller.empty() || caller == frame ? "" : ", called from " + place_text(caller));
  }
  return finding.site->function.empty() ? "" : " in " + call_name(finding.site->function);
}

// What a wait is for at least, by the kind of its function.
std::string unexplained_text(const Finding& finding) {
  switch (finding.site ? finding.site->kind : CallKind::kOther) {
    case CallKind::kChild:
      return "waiting for a child process to end";
    case CallKind::kRead:
      return "waiting for data from elsewhere";
    case CallKind::kWrite:
      return "waiting until its data is taken elsewhere";
    default:
      return usual_how(finding.cause);
  }
}

// Who is asked only when it is waited for does the work in this thread's place, though it is another one already.
bool is_of_helper(const Finding& finding) {
  return finding.cause == Cause::kHostWork && is_for_thread(finding) &&
         finding.evidence.find<SamplesEvidence>() == nullptr;
}

std::string how_text(const Finding& finding) {
  if (finding.cause == Cause::kUnexplained) return unexplained_text(finding);
  if (sleeps(finding)) return finding.site->role == Role::kMain ? "asleep" : "waiting for a thread that sleeps";
  if (is_for_disk(finding)) return "waiting for pages of mapped files";
  if (is_of_workers(finding)) return "waiting for loader workers that read or write files";
  if (is_of_thread(finding)) return "waiting for a thread that reads or writes files";
  if (is_request(finding)) return "in gc.collect(), which the program calls";
  if (is_of_helper(finding)) return "asking another thread for work and waiting for it";
  if (is_callback(finding)) return "while the GPU waits for a function on the host";
  return usual_how(finding.cause);
}

std::string because_text(const Finding& finding) {
  const Evidence& evidence = finding.evidence;
  if (evidence.find<GarbageEvidence>() != nullptr) return garbage_text(evidence);
  if (!finding.site) return {};
  if (const auto* moved = evidence.find<TransferEvidence>()) return transfer_text(*moved);
  if (evidence.find<SamplesEvidence>() != nullptr) return sampled_text(finding);
  const std::string awaited = place_text(evidence.of<AwaitedEvidence>().awaited);
  const std::string waits_in = is_of_thread(finding) ? "the step waits for it in " + place_text(held_up(finding)) : "";
  if (finding.cause == Cause::kFileIo && !awaited.empty())
    return "most of it is for " + awaited + (waits_in.empty() ? "" : "; " + waits_in);
  if (!waits_in.empty()) return waits_in;
  if (finding.cause == Cause::kRemoteWait && !awaited.empty()) return "most of it is for the peer " + awaited;
  if (finding.cause == Cause::kUnexplained && !awaited.empty()) return "most of it is for " + awaited;
  const std::string holder = busy_holder_text(evidence);
  return holder.empty() ? "" : "most of it is waiting for " + holder;
}

std::string todo_text(const Finding& finding) {
  if (std::string advice = fix_text(finding); !advice.empty()) return advice;
  if (finding.cause == Cause::kPythonOverhead && finding.without_gpu)
    return "do less of it in a step, or in another process";
  if (sleeps(finding)) return "sleep less there, or wait for what it sleeps for";
  if (is_for_disk(finding)) return "read the files ahead (readahead, MADV_WILLNEED), or on another thread";
  if (is_of_thread(finding)) return "let it read or write earlier, in larger pieces, or on more threads";
  if (is_of_workers(finding)) return "read ahead (readahead, MADV_WILLNEED), read larger pieces, or use more workers";
  if (is_of_helper(finding)) return "ask that thread earlier, or give it less to do";
  if (is_callback(finding)) return "let it hand that work to a thread, and return";
  if (finding.cause == Cause::kDataloaderWait && is_for_thread(finding))
    return "look at how it makes samples, or use more of its kind";
  const auto& moved = finding.evidence.of<TransferEvidence>();
  if (moved.usual_bus_gb_s || moved.pcie_bus_gb_s)
    return "look at the links between these ranks, and at which way NCCL takes";
  return usual_advice(finding.cause);
}

}  // namespace

std::string lost_time_what(const Finding& finding) { return how_text(finding) + heaviest_place(finding); }

Advice lost_time_advice(const Finding& finding) {
  if (finding.cause == Cause::kCpuContention)
    if (Advice advice = supply_advice(finding); !advice.todo.empty()) return advice;
  Advice advice = {because_text(finding), todo_text(finding)};
  if (finding.cause != Cause::kDataloaderWait || is_for_thread(finding)) return advice;
  const Advice of_workers = loader_advice(finding.evidence);
  if (!of_workers.because.empty()) advice.because += (advice.because.empty() ? "" : "; ") + of_workers.because;
  // Workers that lack a CPU are not helped by more of them, whatever usually helps.
  const WorkersEvidence& workers = finding.evidence.of<WorkersEvidence>();
  if (finding.fix == Fix::kNone || workers.workers_no_cpu_pct > workers.workers_cpu_pct) advice.todo = of_workers.todo;
  return advice;
}

}  // namespace hostprobe::analysis
