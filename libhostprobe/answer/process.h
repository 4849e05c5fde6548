// process.h: every answer about one process.
//
// The waist (answer/). analysis/process.h fills it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "action.h"
#include "damage.h"
#include "gpu.h"
#include "hook.h"
#include "launch.h"
#include "machine.h"
#include "path.h"
#include "python.h"
#include "step.h"
#include "thread.h"
#include "wait.h"
#include "window.h"

namespace hostprobe::analysis {

enum class ProcessTask {
  kUnknown,
  kDataLoader,       // a worker of PyTorch's DataLoader, however it was started
  kLauncher,         // torchrun's agent
  kCompiler,         // Inductor's compile worker, and those that it forks
  kForkServer,       // of Python's multiprocessing
  kResourceTracker,  // the same
  kSpawned,          // by Python's multiprocessing, for what is not known
};

// An id, for scripts.
const char* task_name(ProcessTask task);

// "DataLoader worker"
const char* task_words(ProcessTask task);

struct OwnCost {
  double records_ms = 0;
  double quiet_ms = 0;     // hooked calls that needed no record
  double slow_ms = 0;      // stacks, taking chunks
  double switches_ms = 0;  // the kernel, for records of context switches
  double samples_ms = 0;   // the kernel, for samples of running code
  double writer_ms = 0;    // CPU of the writer thread
  struct {
    double records_ms = 0, switches_ms = 0, samples_ms = 0;
  } writer_for;                     // of that, as far as it was for those; 0 in older traces
  std::optional<double> steps_pct;  // of the steps' time: work of ours that they waited for; nothing: not known
  double total_ms() const { return records_ms + quiet_ms + slow_ms + switches_ms + samples_ms + writer_ms; }
};

// Things of one kind that could not be used, or in part only.
struct LeftOutAnswer {
  std::string kind;
  std::uint64_t count = 0;
  std::optional<std::uint64_t> first_byte;  // of the file's text; nothing: they stand at no one place of it
};

struct ImportAnswer {
  bool in_part = false;
  std::uint64_t read_bytes = 0, all_bytes = 0;  // of the text; `all_bytes` 0: not known
  std::string why;                              // no more was read
  std::vector<LeftOutAnswer> left_out;
  bool is_rank_guessed = false, is_host_guessed = false;  // from the name of the file

  std::optional<double> read_pct() const;
};

inline constexpr std::size_t kLossReasons = 8;  // known ones, and room for more

enum class ProcessKind { kRank, kWorker, kOther };

const char* kind_name(ProcessKind kind);

// What came before the first step: imports, rendezvous, the first batch, compilation.
struct StartUpAnswer {
  double ms = 0;
  std::vector<WaitSite> waits;  // of the main thread, heaviest first
};

// The kernel's records of threads being put on a CPU and taken off it.
struct SchedulerAnswer {
  std::uint64_t switches = 0;  // onto a CPU, that are recorded
  std::uint64_t lost = 0;
  double covered_pct = 0;              // of the time in which they would be recorded
  std::uint64_t threads_left_out = 0;  // they switched too often, for some time at least
};

enum class EndState {
  kEnded,
  kRunning,
  kKilled,     // somebody saw the signal
  kUnseen,     // its trace was left open: by a signal, or by the bare system call
  kRecovered,  // the same; what was in its shared memory has been brought in
};

// An id, for scripts.
const char* end_name(EndState end);

// A child that was forked from it, and waits for a thread that stayed here.
struct StuckChild {
  std::uint32_t pid = 0;
  std::string code;    // it is in, "function (library)"
  std::string python;  // its innermost Python function and line; "" = none, or not known
};

struct ProcessAnswer {
  std::string trace_path;
  std::optional<int> rank;
  ProcessKind kind = ProcessKind::kOther;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint32_t forked_from = 0;  // the traced process it was forked from, without another program since; 0 = none
  ProcessTask task = ProcessTask::kUnknown;
  std::uint64_t cpus = 0;                // that it may use; 0 = not known
  std::uint64_t machine_cpus = 0;        // that the machine has; 0 = not known
  std::optional<double> idle_cpus = {};  // of these, on average
  std::optional<int> restart;            // which incarnation of its rank, as its launcher says
  std::string job;                       // its id, as its launcher says; "" = not said
  std::uint32_t world_size = 0;          // ranks of the job, as the probe was told; 0 = not said
  std::string host;
  std::string boot_id;
  std::string program;
  std::string command;
  std::string mode;
  std::string hostprobe_version;
  EndState end = EndState::kEnded;
  std::optional<int> end_signal;  // as far as somebody saw it, this and the next
  std::optional<int> end_status;  // what it exited with
  double end_s = 0;               // since the run began: its end, or its last proof of life
  std::uint64_t start_monotonic_ns = 0;
  std::uint64_t start_realtime_ns = 0;
  double start_since_first_ns = 0;  // on the scale of events
  double wall_ms = 0;
  std::optional<double> cpu_ms;
  std::optional<double> clock_error_us;
  std::uint64_t records = 0;
  std::uint64_t lost = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t lost_in_file = 0;
  std::array<std::uint64_t, kLossReasons>
      lost_by{};  // by LossCause of format/segment.h; of older traces nothing is known
  int file_errno = 0;
  bool tail_gone = false;  // it was killed, and what its shared memory held is gone, how much nobody knows
  std::vector<Damage> damages;
  std::vector<StuckChild> stuck_children;
  std::optional<OwnCost> own_cost;
  std::optional<SchedulerAnswer> scheduler;  // nothing: none were recorded
  std::vector<ThreadAnswer> threads;         // main first, then by role
  std::vector<MaskAnswer> masks;             // who set CPU masks, in the order of time
  std::vector<WaitSite> waits;
  WakeChain sync_chain;  // of the main thread's synchronisations
  LaunchAnswer launches;
  SyncAnswer syncs;
  GpuAnswer gpu;
  std::optional<CertainIdle> certain_idle;
  std::optional<GapAnswer> gaps;
  std::optional<PathAnswer> path;
  KernelTimes kernels;  // empty where GPU times are not known
  std::vector<ProgressAnswer> progress;
  std::vector<HookAnswer> hooks;       // as the trace's table
  std::vector<RegionAnswer> regions;   // named parts of its time, longest first
  std::optional<GcAnswer> gc;          // where Python told of it
  std::vector<GilThread> gil;          // threads that waited for Python's lock, heaviest first
  std::vector<RunningAnswer> running;  // threads that were sampled while they ran, by CPU time
  std::vector<StackTree> stacks;       // of some threads of some processes (Effort::stacks)
  std::optional<QueueAnswer> queue;    // launches that found their stream empty, by samples
  StepAnswer steps;
  std::optional<StartUpAnswer> start_up;  // where there are steps with a place in time
  std::shared_ptr<const ProcessAnswer>
      steady;  // waits, launches and synchronisations of the steps alone, and their shares
  std::vector<ActionAnswer> actions;
  std::optional<ImportAnswer> imported;  // what is missing of another tool's file; nothing: nothing is
  std::vector<Window> halts;             // when somebody had stopped it, on the scale of events
  std::optional<QuotaAnswer> quota;      // of CPU time, where one was used up
  std::optional<FrequencyAnswer> frequency;
  std::optional<MachineAnswer> machine;  // what the kernel counted of its machine meanwhile
  std::uint64_t skipped = 0;             // calls that were not recorded, to keep to the budget
  std::uint64_t summed_only = 0;         // records of which only counters are left
  std::optional<double> whole_since_ms;  // from the process's begin: everything later has a record; nothing: none has

  // What findings are about: the steps, where there are any.
  const ProcessAnswer& in_steps() const { return steady ? *steady : *this; }
  double wall_share(double ms) const { return wall_ms > 0 ? 100.0 * ms / wall_ms : 0; }
  std::optional<double> own_cost_pct() const;
  // Of its CPU time; nothing: not known.
  std::optional<double> own_cpu_pct() const;
  const ThreadAnswer* main_thread() const;
  const ThreadAnswer* thread(const ThreadKey& key) const;
  // What a person calls a thread: its role; where that is `other`, its own name, or what it runs.
  std::string thread_title(const ThreadKey& key, Role role) const;
  const RunningAnswer* running_of(const ThreadAnswer& thread) const;  // nullptr: it was not sampled
};

// Of a file that was read in part, whatever is said because something is not there may be wrong: it may stand in the rest.
inline bool is_read_in_part(const ProcessAnswer& process) { return process.imported && process.imported->in_part; }

}  // namespace hostprobe::analysis
