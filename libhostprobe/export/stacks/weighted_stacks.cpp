// weighted_stacks.cpp: see weighted_stacks.h.
#include "weighted_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "answer/file_name.h"
#include "export/exported_run.h"
#include "words/words.h"

namespace hostprobe::analysis {
namespace {

template <std::size_t Size>
std::string field(const char (&text)[Size]) {
  return std::string(text, strnlen(text, Size));
}

StackProcess process_of(const FileHeader& header) {
  const std::string title = header.rank >= 0 ? fmt::format("rank {}", header.rank)
                                             : fmt::format("{} pid {}", base_name(field(header.program)), header.pid);
  return {printable(title), header.rank, header.pid, printable(field(header.host))};
}

StackThread thread_of(std::size_t process, const Track& track) {
  const std::string role = role_name(track.role), name = printable(track.thread->name);
  const std::string title = name.empty() || name == role ? role : fmt::format("{} ({})", role, name);
  return {process, fmt::format("{} {}", title, track.key().tid), role, track.key().tid};
}

class Collector {
 public:
  Collector(RunSteps steps, WeightedStacks& all) : steps_(std::move(steps)), all_(all) {}

  void add(const Timeline& timeline) {
    const auto found = steps_.of_trace.find(timeline.trace().path);
    own_steps_ = found == steps_.of_trace.end() ? nullptr : &found->second;
    all_.processes.push_back(process_of(timeline.trace().header));
    const auto samples = running_samples(timeline.trace());
    ThreadStacks stacks(timeline, symbols_);
    for (const Track& track : timeline.tracks()) {
      all_.threads.push_back(thread_of(all_.processes.size() - 1, track));
      const auto take = [this](const ThreadStack& stack) { add(stack); };
      if (const auto own = samples.find(track.key()); own != samples.end()) stacks.take_samples(own->second, take);
      stacks.take_waits(track, take);
    }
  }

 private:
  std::uint32_t name_of(const std::string& text) {
    const auto [found, fresh] = names_.try_emplace(text, static_cast<std::uint32_t>(all_.names.size()));
    if (fresh) all_.names.push_back(printable(text));
    return found->second;
  }

  void add(const ThreadStack& stack) {
    StackKey key{all_.threads.size() - 1, stack.state, kNoStep, {}};
    for (const std::string& frame : stack.frames) key.frames.push_back(name_of(frame));
    if (own_steps_ == nullptr || (stack.begin_ns == 0 && stack.end_ns == 0)) return weigh(key, stack.ns, stack.count);
    if (stack.end_ns > stack.begin_ns) return divide(key, stack);
    const Step* step = step_at(stack.end_ns);
    key.step = step == nullptr ? kNoStep : static_cast<std::int64_t>(step->number);
    weigh(key, stack.ns, stack.count);
  }

  // Among the steps that it spans, and what lies between them. It is counted where it begins.
  void divide(StackKey& key, const ThreadStack& stack) {
    double at_ns = stack.begin_ns;
    std::uint64_t count = stack.count;
    while (at_ns < stack.end_ns) {
      const auto next = first_ending_after(at_ns);
      const bool inside = next != own_steps_->end() && next->begin_ns <= at_ns;
      const double border_ns = next == own_steps_->end() ? stack.end_ns : inside ? next->end_ns : next->begin_ns;
      const double until_ns = std::min(stack.end_ns, border_ns);
      key.step = inside ? static_cast<std::int64_t>(next->number) : kNoStep;
      weigh(key, until_ns - at_ns, count);
      count = 0;
      at_ns = until_ns;
    }
  }

  std::vector<Step>::const_iterator first_ending_after(double ns) const {
    return std::partition_point(own_steps_->begin(), own_steps_->end(),
                                [ns](const Step& step) { return step.end_ns <= ns; });
  }

  const Step* step_at(double ns) const {
    const auto found = first_ending_after(ns);
    return found != own_steps_->end() && found->begin_ns <= ns ? &*found : nullptr;
  }

  void weigh(const StackKey& key, double ns, std::uint64_t count) {
    if (ns <= 0) return;
    StackWeight& weight = all_.stacks[key];
    weight.ns += ns;
    weight.count += count;
  }

  const RunSteps steps_;
  WeightedStacks& all_;
  Symbols symbols_;
  const std::vector<Step>* own_steps_ = nullptr;
  std::map<std::string, std::uint32_t> names_;
};

}  // namespace

WeightedStacks collect_stacks(const ChosenJob& run, const RunSteps& steps, bool by_step,
                              const ExportProgress& progress) {
  WeightedStacks all;
  Collector collector(by_step ? steps : RunSteps{}, all);
  all.problems = visit_traces(
      run, [&collector](const Timeline& timeline) { collector.add(timeline); }, [](const Trace&) {}, progress);
  if (all.stacks.empty()) all.problems.emplace_back("it has no stacks: no call of it waited, and nothing was sampled");
  return all;
}

std::vector<std::string> frames_from_root(const WeightedStacks& all, const StackKey& key, bool step_as_frame) {
  const StackThread& thread = all.threads[key.thread];
  std::vector<std::string> frames = {all.processes[thread.process].title};
  if (step_as_frame) frames.push_back(key.step == kNoStep ? "in no step" : fmt::format("step {}", key.step));
  frames.push_back(thread.title);
  frames.push_back(thread_state_name(key.state));
  for (const std::uint32_t name : key.frames) frames.push_back(all.names[name]);
  return frames;
}

}  // namespace hostprobe::analysis
