// own_code.h: what a thread that is in no call runs there, by samples of it: the interpreter, or other code of the program's own.
//
// Room 3. Samples are few: a span between two calls has seldom one of its own. So all such spans of a thread that are too long for
// launching are taken together, and each is divided as its samples are all in all; a span with enough samples of its own as those are.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/graph/path_graph.h"
#include "analysis/measures/pools.h"
#include "analysis/measures/sampled_share.h"
#include "answer/cause.h"
#include "answer/hook.h"
#include "launch_pace.h"
#include "model/samples.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {

// Where the moment of a sample lies. Windows are by time, and none overlap.
bool is_in_one(const std::vector<Window>& windows, double at_ns);
bool is_in_call(const HostThread& thread, double at_ns);
// For how many pages the disk was asked, in the steps.
std::uint64_t disk_faults(const ThreadSamples& samples, const TimeAxis& axis, const std::vector<Window>& steps);

// From so many samples on a share is told: half of them is known to 20 points then, of fewer hardly anything is.
inline constexpr std::uint64_t kFewestSamples = 20;
// A place is named where its share is at least this for sure. Of fewer samples than this a single stray one weighs too much.
inline constexpr double kNamedShare = 0.1;
inline constexpr std::uint64_t kFewestOfPlace = 7;

// The heaviest place.
struct OwnSite {
  std::string function, library;     // "" = not known
  std::vector<std::string> stack;    // of Python, innermost first
  std::uint64_t samples = 0;         // all that were looked at
  SampledShare share;                // of them
  CallKind kind = CallKind::kOther;  // of the system call that it was in
};

// Of a thread that computes without a GPU: which part of its own time was the program's own code, not the framework's.
struct ProgramParts {
  double python = 0, other = 0;
  double sum() const { return python + other; }
};

// Of a time in no call, in a process that has a GPU: what the interpreter ran, and what compilers of GPU code took. The rest is other work.
struct OwnParts {
  double interpreter = 0, compiler = 0;
};

class OwnCode {
 public:
  // Of one process, whose samples are `all`; `number`: HostThread::process of its threads. `steps`, and times of the graph, are on the axis.
  OwnCode(const Timeline& timeline, const PathGraph& graph, const LaunchPace& pace, const TimeAxis& axis,
          const std::map<ThreadKey, ThreadSamples>& all, const std::vector<Window>& steps, std::uint32_t number,
          Symbols& symbols);

  // Nothing: there are too few samples.
  std::optional<OwnParts> own_parts(const HostThread& thread, const Window& window) const;
  // Which part of its time in no call the kernel took to hand it pages; 0: none, or too few samples.
  double fault_part(const HostThread& thread) const;
  // Which part of its time on a CPU, in no call, it looks whether other threads are done; 0: none, or too few samples.
  double spinning_part(const HostThread& thread) const;
  // Nothing: too few samples, or no place stands out.
  std::optional<ProgramParts> program_parts(const HostThread& thread) const;
  // Of kPythonOverhead, kHostWork, kJitCompile and kPageFaults. Nothing: too few samples, or no place stands out.
  std::optional<OwnSite> site(std::uint32_t tid, Cause cause) const;
  // The same without a GPU.
  std::optional<OwnSite> program_site(std::uint32_t tid, Cause cause) const;
  // Of a rank that works longer than others: where in the program's own file it was found most often beyond what they were.
  struct Peer {
    const OwnCode* code;
    std::uint32_t tid;
  };
  std::optional<OwnSite> longer_site(std::uint32_t tid, const std::vector<Peer>& others) const;

 private:
  enum class Place : std::uint8_t { kInterpreter, kFramework, kCompiler, kElsewhere, kEither };
  struct Code {
    double at_ns;
    Place place;
    std::string function, library;
    bool in_kernel;
  };
  struct Frames {
    std::string_view innermost;
    std::uint32_t stack;
    bool of_framework;  // called by it
  };
  struct Samples {
    std::vector<Code> code;          // by time
    std::vector<Code> fault_places;  // that touched pages which were not there
    std::vector<Frames> python;
    std::optional<ProgramParts> program;
    double fault_part = 0, spinning_part = 0;
    bool asks_disk = false;  // for most pages that take time
  };
  Code code_of(const RunningSample& sample, double at_ns);
  static double part_spinning(const std::vector<Code>& samples, const Switching& switching);
  static bool asks_disk(const std::vector<FaultSample>& samples);
  // Of a thread's own time in steps.
  struct OwnTime {
    double wall_ns = 0;
    std::uint64_t samples = 0;
    double sampled_ns = 0, kernel_ns = 0;  // all that they stand for, and what of it was in the kernel
  };
  static double part_in_faults(const std::vector<FaultSample>& samples, const OwnTime& own);
  static std::optional<OwnSite> fault_site(const Samples& samples);
  static std::optional<OwnParts> parts_of(const Code* begin, const Code* end, std::uint64_t python);
  bool is_of_framework(std::uint32_t stack) const;
  std::optional<ProgramParts> parts_of_program(const Samples& samples) const;
  // `program`: only of the program's own code.
  std::optional<OwnSite> python_site(const Samples& samples, bool program) const;
  static std::optional<OwnSite> code_site(const Samples& samples, Cause cause);
  // Samples by the place in the program's file, each with one of their stacks.
  struct ProgramPlace {
    std::uint64_t samples = 0;
    std::vector<std::string> stack;  // from that place on
  };
  std::map<std::string, ProgramPlace> program_places(std::uint32_t tid) const;

  const Trace& trace_;
  Symbols& symbols_;
  std::map<std::uint32_t, Samples> threads_;  // by tid
};

}  // namespace hostprobe::analysis
