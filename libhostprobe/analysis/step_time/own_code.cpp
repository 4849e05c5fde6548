// own_code.cpp: see own_code.h.
#include "own_code.h"

#include <algorithm>
#include <cmath>

#include "analysis/measures/wait_purpose.h"
#include "answer/file_name.h"
#include "answer/step_time.h"
#include "answer/telling_frames.h"
#include "model/timeline.h"

namespace hostprobe::analysis {
namespace {

// The modules of Python's own library are written in C as the interpreter is.
bool is_interpreter(const std::string& path) {
  return is_python_library(base_name(path)) || path.find("/lib-dynload/") != std::string::npos;
}

// What computes for a framework, and the framework itself.
bool is_framework(const std::string& library) {
  for (const char* name : {"libtorch", "libc10", "libmkl", "libopenblas", "libblas", "libgomp", "libomp", "libiomp",
                           "libdnnl", "libtensorflow", "xla_extension", "libjax"})
    if (library.starts_with(name)) return true;
  return false;
}

// What does nothing but to compile and link GPU code.
bool is_compiler(const std::string& library) {
  for (const char* name :
       {"libnvrtc", "libnvJitLink", "libnvptxcompiler", "libnvidia-ptxjitcompiler", "libLLVM", "libtriton"})
    if (library.starts_with(name)) return true;
  return false;
}

// Of a framework's functions that run a program's model. What a module's `forward` calls is the model's, too.
bool runs_model(std::string_view frame) {
  for (const char* name : {"_call_impl (module.py:", "_engine_run_backward (graph.py:", "Optimizer.profile_hook_step.",
                           "(optimizer.py:", "(functional.py:", "(grad_mode.py:"})
    if (frame.find(name) != std::string_view::npos) return true;
  return false;
}

// Whoever called it decides.
bool is_shared_by_all(const std::string& library) {
  for (const char* name :
       {"libc.so", "libc-", "libm.so", "libm-", "libpthread", "ld-linux", "libdl.so", "linux-vdso", "libstdc++"})
    if (library.starts_with(name)) return true;
  return false;
}

// Of the time in a framework's own calls, in the interpreter: half of it where tensors are small.
constexpr double kMostDispatch = 0.5;

// What handing out a page of 4 KiB takes at least, and at most in a virtual machine, where the host has to find it as well. What takes longer
// is something else, or pages of 2 MiB, of which nobody knows how long they take.
constexpr double kQuickFaultNs = 250, kSlowFaultNs = 10000;
// Where the disk is asked for a page the kernel makes a request of it, and takes the answer: 43 to 61 us on two virtual machines, whose host
// has a part in both.
constexpr double kSlowDiskFaultNs = 200000;

// Less than that is a few of the kernel's clock ticks, and nothing can be said.
constexpr double kLeastKernelNs = 50e6;

// The thread is in no call then, and longer so than it takes to launch.
bool is_own(const PathGraph& graph, const HostThread& thread, const LaunchPace& pace, double at_ns) {
  if (is_in_call(thread, at_ns)) return false;
  if (is_in_one(graph.collections_of(thread), at_ns)) return false;
  return !pace.is_usual(thread, {at_ns, at_ns});
}

// One that began to count before the steps has what the start of the program took, which is most.
std::vector<FaultSample> faults_in(const ThreadSamples& samples, const TimeAxis& axis,
                                   const std::vector<Window>& steps) {
  std::vector<FaultSample> inside;
  double since_ns = -1e300;
  for (const FaultSample& one : samples.faults) {
    const double at_ns = axis.of(one.at_ns);
    if (!steps.empty() && since_ns >= steps.front().begin_ns && is_in_one(steps, at_ns)) inside.push_back(one);
    since_ns = at_ns;
  }
  return inside;
}

}  // namespace

bool is_in_one(const std::vector<Window>& windows, double at_ns) {
  const auto after = std::partition_point(windows.begin(), windows.end(),
                                          [&](const Window& window) { return window.begin_ns <= at_ns; });
  return after != windows.begin() && at_ns < std::prev(after)->end_ns;
}

bool is_in_call(const HostThread& thread, double at_ns) {
  const std::ptrdiff_t at = thread.call_at(at_ns);
  return at >= 0 && thread.calls[static_cast<std::size_t>(at)].end_ns > at_ns;
}

std::uint64_t disk_faults(const ThreadSamples& samples, const TimeAxis& axis, const std::vector<Window>& steps) {
  std::uint64_t faults = 0;
  for (const FaultSample& one : faults_in(samples, axis, steps)) faults += one.of_disk;
  return faults;
}

OwnCode::OwnCode(const Timeline& timeline, const PathGraph& graph, const LaunchPace& pace, const TimeAxis& axis,
                 const std::map<ThreadKey, ThreadSamples>& all, const std::vector<Window>& steps, std::uint32_t number,
                 Symbols& symbols)
    : trace_(timeline.trace()), symbols_(symbols) {
  for (const HostThread& thread : graph.host.threads) {
    const auto found = thread.track == nullptr || thread.process != number ? all.end() : all.find(thread.track->key());
    if (found == all.end()) continue;
    const auto counts = [&](double at_ns) { return is_in_one(steps, at_ns) && is_own(graph, thread, pace, at_ns); };
    Samples& own = threads_[thread.track->key().tid];
    OwnTime own_time;
    for (const Window& step : steps) own_time.wall_ns += step.length_ns() - thread.in_calls_ns(step);
    for (const RunningSample& sample : found->second.code) {
      const double at_ns = axis.of(sample.at_ns);
      if (!counts(at_ns)) continue;
      own.code.push_back(code_of(sample, at_ns));
      ++own_time.samples;
      own_time.sampled_ns += sample.ns;
      if (sample.address == 0) own_time.kernel_ns += sample.ns;
    }
    for (const RunningSample& sample : found->second.python)
      if (counts(axis.of(sample.at_ns)))
        if (const std::string_view frame = innermost_frame(trace_, sample.stack); !frame.empty())
          own.python.push_back({frame, sample.stack, is_of_framework(sample.stack)});
    for (const RunningSample& sample : found->second.fault_places)
      if (const double at_ns = axis.of(sample.at_ns); is_in_one(steps, at_ns))
        own.fault_places.push_back(code_of(sample, at_ns));
    own.program = parts_of_program(own);
    std::vector<SupplySample> supply = found->second.supply;
    std::erase_if(supply, [&](const SupplySample& one) { return !is_in_one(steps, axis.of(one.end_ns)); });
    own.spinning_part = part_spinning(own.code, switching_of(supply));
    const std::vector<FaultSample> faults = faults_in(found->second, axis, steps);
    own.fault_part = part_in_faults(faults, own_time);
    own.asks_disk = asks_disk(faults);
  }
}

OwnCode::Code OwnCode::code_of(const RunningSample& sample, double at_ns) {
  if (sample.address == 0) return {at_ns, Place::kEither, "", "", true};
  const CodePlace place = symbols_.place(trace_, sample.address, false);
  const Module* module = trace_.module_at(sample.address);
  Place kind = Place::kElsewhere;
  if (module == nullptr || is_shared_by_all(place.library)) kind = Place::kEither;
  if (module != nullptr && is_interpreter(module->path)) kind = Place::kInterpreter;
  if (is_framework(place.library)) kind = Place::kFramework;
  if (is_compiler(place.library)) kind = Place::kCompiler;
  return {at_ns, kind, place.function, place.library, false};
}

// A page of the disk takes longer than this many others.
bool OwnCode::asks_disk(const std::vector<FaultSample>& samples) {
  constexpr std::uint64_t kOthers = 20;
  std::uint64_t all = 0, of_disk = 0;
  for (const FaultSample& one : samples) all += one.faults, of_disk += one.of_disk;
  return of_disk >= kFewestSamples && kOthers * of_disk >= all;
}

// All of the thread's time that is in the kernel, where pages account for it: what it takes for its calls is little beside that.
// What it does in calls, as to look again and again whether the GPU is done, is none of its own time.
double OwnCode::part_in_faults(const std::vector<FaultSample>& samples, const OwnTime& own) {
  double cpu_ns = 0, kernel_ns = 0, faults = 0, most_ns = 0;
  for (const FaultSample& one : samples) {
    cpu_ns += one.cpu_ns;
    kernel_ns += one.kernel_ns;
    faults += static_cast<double>(one.faults);
    most_ns += kSlowFaultNs * static_cast<double>(one.faults) + kSlowDiskFaultNs * static_cast<double>(one.of_disk);
  }
  if (kernel_ns < kLeastKernelNs || cpu_ns < kernel_ns) return 0;
  if (kernel_ns > most_ns) return faults * kQuickFaultNs / cpu_ns;
  if (own.samples >= kFewestSamples) return own.kernel_ns / own.sampled_ns;
  return std::min(1.0, kernel_ns / std::min(cpu_ns, own.wall_ns));
}

double OwnCode::fault_part(const HostThread& thread) const {
  const auto found = thread.track == nullptr ? threads_.end() : threads_.find(thread.track->key().tid);
  return found == threads_.end() ? 0 : found->second.fault_part;
}

double OwnCode::part_spinning(const std::vector<Code>& samples, const Switching& switching) {
  SpinCount count;
  for (const Code& one : samples) {
    count.samples += !one.in_kernel;
    count.spinning += !one.in_kernel && spins_in(one.function, one.library);
  }
  if (count.samples < kFewestSamples) return 0;
  count.add_kernel(1, switching);
  return count.share().part;
}

double OwnCode::spinning_part(const HostThread& thread) const {
  const auto found = thread.track == nullptr ? threads_.end() : threads_.find(thread.track->key().tid);
  return found == threads_.end() ? 0 : found->second.spinning_part;
}

// Where no code is known the Python frames say that it is Python.
std::optional<OwnParts> OwnCode::parts_of(const Code* begin, const Code* end, std::uint64_t python) {
  std::uint64_t inside = 0, compiling = 0, all = 0;
  for (; begin != end; ++begin) {
    inside += begin->place == Place::kInterpreter;
    compiling += begin->place == Place::kCompiler;
    all += begin->place != Place::kEither;
  }
  if (all >= kFewestSamples) return OwnParts{share_of_samples(inside, all).part, share_of_samples(compiling, all).part};
  if (all == 0 && python >= kFewestSamples) return OwnParts{1, 0};
  return std::nullopt;
}

std::optional<OwnParts> OwnCode::own_parts(const HostThread& thread, const Window& window) const {
  const auto found = thread.track == nullptr ? threads_.end() : threads_.find(thread.track->key().tid);
  if (found == threads_.end()) return std::nullopt;
  const std::vector<Code>& code = found->second.code;
  const auto at = [&](double ns) {
    return code.data() +
           (std::partition_point(code.begin(), code.end(), [&](const Code& one) { return one.at_ns < ns; }) -
            code.begin());
  };
  if (const auto own = parts_of(at(window.begin_ns), at(window.end_ns), 0)) return own;
  return parts_of(code.data(), code.data() + code.size(), found->second.python.size());
}

bool OwnCode::is_of_framework(std::uint32_t stack) const {
  const auto frames = trace_.stacks.find(stack - 1u);
  if (frames == trace_.stacks.end()) return false;
  return std::any_of(frames->second.python.begin(), frames->second.python.end(),
                     [this](std::uint32_t id) { return runs_model(trace_.strings.text(id)); });
}

// Samples of Python say who called, samples of code where it was, and none says both. Of what a framework was called for some is
// spent in the interpreter, too: so much, and not more, is taken off what was seen there.
std::optional<ProgramParts> OwnCode::parts_of_program(const Samples& samples) const {
  if (!python_site(samples, true)) return std::nullopt;
  double inside = 0, framework = 0, elsewhere = 0;
  for (const Code& one : samples.code) {
    inside += one.place == Place::kInterpreter;
    framework += one.place == Place::kFramework;
    elsewhere += one.place == Place::kElsewhere || one.place == Place::kCompiler;
  }
  const double code = inside + framework + elsewhere;
  if (code < static_cast<double>(kFewestSamples)) return std::nullopt;
  const std::vector<Frames>& python = samples.python;
  const auto called = std::count_if(python.begin(), python.end(), [](const Frames& one) { return one.of_framework; });
  const double called_part = static_cast<double>(called) / static_cast<double>(python.size());
  const double own = std::min(1 - called_part, (inside + elsewhere) / code - kMostDispatch * called_part);
  if (own < kNamedShare) return std::nullopt;
  const double in_python = inside / (inside + elsewhere);
  return ProgramParts{own * in_python, own * (1 - in_python)};
}

std::optional<ProgramParts> OwnCode::program_parts(const HostThread& thread) const {
  const auto found = thread.track == nullptr ? threads_.end() : threads_.find(thread.track->key().tid);
  return found == threads_.end() ? std::nullopt : found->second.program;
}

std::optional<OwnSite> OwnCode::program_site(std::uint32_t tid, Cause cause) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return std::nullopt;
  std::optional<OwnSite> site = python_site(found->second, true);
  if (!site || cause != Cause::kHostWork) return site;
  std::map<std::string, std::uint64_t> libraries;
  for (const Code& one : found->second.code)
    if (one.place == Place::kElsewhere) ++libraries[one.library];
  const auto most = std::max_element(libraries.begin(), libraries.end(),
                                     [](const auto& l, const auto& r) { return l.second < r.second; });
  site->library = most == libraries.end() ? "" : most->first;
  return site;
}

std::map<std::string, OwnCode::ProgramPlace> OwnCode::program_places(std::uint32_t tid) const {
  std::map<std::string, ProgramPlace> places;
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return places;
  for (const Frames& one : found->second.python) {
    const auto frames = trace_.stacks.find(one.stack - 1u);
    if (frames == trace_.stacks.end()) continue;
    std::vector<std::string> stack = stack_text(trace_, frames->second, symbols_);
    const std::string frame = program_frame(stack);
    if (frame.empty()) continue;
    stack.erase(stack.begin(), std::find(stack.begin(), stack.end(), frame));
    const PythonPlace place = python_place(frame);
    ProgramPlace& sum = places[place.function + " " + place.file];
    ++sum.samples;
    if (sum.stack.empty()) sum.stack = std::move(stack);
  }
  return places;
}

// All are sampled as often, so their numbers can be compared; those of chance differ by twice their root in 5 of 100 cases.
std::optional<OwnSite> OwnCode::longer_site(std::uint32_t tid, const std::vector<Peer>& others) const {
  std::map<std::string, double> elsewhere;
  for (const Peer& other : others)
    for (const auto& [name, place] : other.code->program_places(other.tid))
      elsewhere[name] += static_cast<double>(place.samples) / static_cast<double>(others.size());
  const std::map<std::string, ProgramPlace> places = program_places(tid);
  std::uint64_t all = 0;
  double most = 0;
  const ProgramPlace* site = nullptr;
  for (const auto& [name, place] : places) {
    const auto own = static_cast<double>(place.samples);
    const double beyond = own - elsewhere[name];
    all += place.samples;
    if (place.samples < kFewestOfPlace || beyond <= std::max(most, 2 * std::sqrt(own + elsewhere[name]))) continue;
    most = beyond;
    site = &place;
  }
  if (site == nullptr) return std::nullopt;
  return OwnSite{python_place(site->stack.front()).function, "", site->stack, all,
                 share_of_samples(site->samples, all)};
}

std::optional<OwnSite> OwnCode::python_site(const Samples& samples, bool program) const {
  struct Group {
    std::uint64_t samples = 0;
    std::map<std::uint32_t, std::uint64_t> stacks;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const Frames& one : samples.python) {
    if (program && one.of_framework) continue;
    const PythonPlace place = python_place(one.innermost);
    Group& group = groups[{place.function, place.file}];
    ++group.samples;
    ++group.stacks[one.stack];
  }
  const auto most = std::max_element(groups.begin(), groups.end(),
                                     [](const auto& l, const auto& r) { return l.second.samples < r.second.samples; });
  if (most == groups.end() || samples.python.size() < kFewestOfPlace) return std::nullopt;
  OwnSite site{
      most->first.first, "", {}, samples.python.size(), share_of_samples(most->second.samples, samples.python.size())};
  if (site.share.low < kNamedShare) return std::nullopt;
  const auto stack = std::max_element(most->second.stacks.begin(), most->second.stacks.end(),
                                      [](const auto& l, const auto& r) { return l.second < r.second; });
  if (const auto frames = trace_.stacks.find(stack->first - 1u); frames != trace_.stacks.end())
    site.stack = stack_text(trace_, frames->second, symbols_);
  for (const Code& one : samples.code)
    if (one.place == Place::kInterpreter && site.library.empty()) site.library = one.library;
  return site;
}

namespace {

// Samples of code by function and library.
using CodeGroups = std::map<std::pair<std::string, std::string>, std::uint64_t>;

// Nothing: there are fewer samples than that, or no place stands out.
std::optional<OwnSite> heaviest_of(const CodeGroups& groups, std::uint64_t fewest) {
  std::uint64_t all = 0;
  for (const auto& [place, samples] : groups) all += samples;
  const auto most =
      std::max_element(groups.begin(), groups.end(), [](const auto& l, const auto& r) { return l.second < r.second; });
  if (all < fewest) return std::nullopt;
  OwnSite site{most->first.first, most->first.second, {}, all, share_of_samples(most->second, all)};
  if (site.share.low < kNamedShare) return std::nullopt;
  return site;
}

}  // namespace

std::optional<OwnSite> OwnCode::code_site(const Samples& samples, Cause cause) {
  const auto is_of_cause = [cause](Place place) {
    return cause == Cause::kJitCompile ? place == Place::kCompiler
                                       : place == Place::kElsewhere || place == Place::kFramework;
  };
  CodeGroups groups;
  for (const Code& one : samples.code)
    if (is_of_cause(one.place)) ++groups[{one.function, one.library}];
  return heaviest_of(groups, kFewestSamples);
}

// Where the pages were touched, as the kernel says of some; else where it was when it came back from the kernel: the sample that stands
// for its own part of the same moment.
std::optional<OwnSite> OwnCode::fault_site(const Samples& samples) {
  CodeGroups groups;
  for (const Code& place : samples.fault_places) ++groups[{place.function, place.library}];
  if (const auto site = heaviest_of(groups, kFewestOfPlace)) return site;
  groups.clear();
  for (std::size_t i = 1; i < samples.code.size(); ++i) {
    const Code& own = samples.code[i - 1];
    if (samples.code[i].in_kernel && !own.in_kernel && own.at_ns == samples.code[i].at_ns)
      ++groups[{own.function, own.library}];
  }
  return heaviest_of(groups, kFewestOfPlace);
}

std::optional<OwnSite> OwnCode::site(std::uint32_t tid, Cause cause) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return std::nullopt;
  const std::optional<OwnSite> python = python_site(found->second, false);
  if (cause == Cause::kPythonOverhead) return python;
  if (cause == Cause::kPageFaults) {
    std::optional<OwnSite> faults = fault_site(found->second);
    if (faults && python) faults->stack = python->stack;
    if (!found->second.asks_disk) return faults;
    std::optional<OwnSite> waits = python_site(found->second, true);
    if (!waits) waits = faults;
    if (waits) waits->function = kPageFault;
    return waits;
  }
  if (cause != Cause::kHostWork && cause != Cause::kJitCompile) return std::nullopt;
  std::optional<OwnSite> code = code_site(found->second, cause);
  // Python's frames are of all of the thread's own time; they say who called where most of it is in the library.
  const std::vector<Code>& all = found->second.code;
  const std::optional<OwnParts> parts = parts_of(all.data(), all.data() + all.size(), 0);
  const double part = !parts                        ? 0
                      : cause == Cause::kJitCompile ? parts->compiler
                                                    : 1 - parts->interpreter - parts->compiler;
  if (code && python && part > 0.5) code->stack = python->stack;
  return code;
}

}  // namespace hostprobe::analysis
