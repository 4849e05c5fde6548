// running.cpp: see running.h.
#include "running.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "pools.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

// Whole steps from the first sample of a thread to its last: in mode flight there are samples of the last seconds only.
class SampledSteps {
 public:
  SampledSteps(const ThreadSamples& samples, const std::vector<Step>& steps) {
    double first_ns = 1e300, last_ns = -1e300;
    for (const std::vector<RunningSample>* view : {&samples.python, &samples.code}) {
      if (view->empty()) continue;
      first_ns = std::min(first_ns, view->front().at_ns - view->front().ns);
      last_ns = std::max(last_ns, view->back().at_ns);
    }
    begin_ =
        std::partition_point(steps.begin(), steps.end(), [&](const Step& step) { return step.begin_ns < first_ns; });
    end_ = std::partition_point(begin_, steps.end(), [&](const Step& step) { return step.end_ns <= last_ns; });
  }
  std::uint64_t count() const { return static_cast<std::uint64_t>(end_ - begin_); }
  bool holds(double at_ns) const {
    const auto after = std::partition_point(begin_, end_, [&](const Step& step) { return step.begin_ns <= at_ns; });
    return after != begin_ && at_ns < std::prev(after)->end_ns;
  }

 private:
  std::vector<Step>::const_iterator begin_, end_;
};

// By what the kernel counted meanwhile: of each count so much as lies in steps.
double step_cpu_ns(const std::vector<SupplySample>& supply, const std::vector<Step>& steps) {
  double cpu_ns = 0, counted_ns = 0, length_ns = 0;
  for (const Step& step : steps) length_ns += step.end_ns - step.begin_ns;
  for (const SupplySample& one : supply) {
    auto step =
        std::partition_point(steps.begin(), steps.end(), [&](const Step& some) { return some.end_ns <= one.begin_ns; });
    double here_ns = 0;
    for (; step != steps.end() && step->begin_ns < one.end_ns; ++step)
      here_ns += inside_ns(Window{step->begin_ns, step->end_ns}, Window{one.begin_ns, one.end_ns});
    if (here_ns <= 0) continue;
    cpu_ns += one.cpu_ns * here_ns / (one.end_ns - one.begin_ns);
    counted_ns += here_ns;
  }
  return counted_ns > 0 ? cpu_ns / counted_ns * length_ns / static_cast<double>(steps.size()) : 0;
}

bool is_inside(const std::vector<Window>& windows, double at_ns) {
  const auto after =
      std::partition_point(windows.begin(), windows.end(), [&](const Window& one) { return one.begin_ns <= at_ns; });
  return after != windows.begin() && at_ns < std::prev(after)->end_ns;
}

struct Sum {
  RunningRow row;
  std::map<unsigned, std::uint64_t> lines;
  std::map<std::string_view, std::uint64_t> callers;
};

template <typename Map>
auto most_of(const Map& counts) {
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& l, const auto& r) { return l.second < r.second; });
}

class ThreadSum {
 public:
  ThreadSum(const Trace& trace, Symbols& symbols, const SampledSteps& steps, const std::vector<Window>& collections)
      : trace_(trace), symbols_(symbols), steps_(steps), collections_(collections) {}

  void add_python(const RunningSample& sample, RunningAnswer& answer) {
    ++answer.python_samples;
    answer.python_ns += sample.ns;
    const std::string_view frame = innermost_frame(trace_, sample.stack);
    if (is_inside(collections_, sample.at_ns)) {
      Sum& sum = python_[{kCollecting, ""}];
      // Imports collect as well, and are over.
      if (!frame.empty() && (steps_.count() == 0 || steps_.holds(sample.at_ns))) ++sum.callers[frame];
      return count(sum, sample, kCollecting);
    }
    if (frame.empty()) {
      ++answer.torn;
      return;
    }
    const PythonPlace place = python_place(frame);
    Sum& sum = python_[{place.function, place.file}];
    sum.row.file = place.file;
    ++sum.lines[place.line];
    if (const std::string_view caller = caller_of(sample.stack, place.file); !caller.empty()) ++sum.callers[caller];
    count(sum, sample, place.function);
  }

  void add_code(const RunningSample& sample, RunningAnswer& answer) {
    ++answer.code_samples;
    answer.code_ns += sample.ns;
    std::pair<std::string, std::string> key{"", kInKernel};
    if (sample.address != 0) {
      const CodePlace place = symbols_.place(trace_, sample.address, false);
      key = {place.function, place.library};
    }
    Sum& sum = code_[key];
    sum.row.library = key.second;
    count(sum, sample, key.first);
  }

  void finish(RunningAnswer& answer) {
    answer.python = rows(python_);
    answer.code = rows(code_);
  }

 private:
  using Groups = std::map<std::pair<std::string, std::string>, Sum>;

  void count(Sum& sum, const RunningSample& sample, const std::string& function) {
    sum.row.function = function;
    sum.row.ns += sample.ns;
    ++sum.row.samples;
    if (steps_.holds(sample.at_ns)) sum.row.step_ns += sample.ns / static_cast<double>(steps_.count());
  }

  // The next frame outwards that is in another file.
  std::string_view caller_of(std::uint32_t stack, const std::string& file) const {
    for (const std::uint32_t id : trace_.stacks.at(stack - 1u).python) {
      const std::string_view frame = trace_.strings.text(id);
      if (!frame.empty() && python_place(frame).file != file) return frame;
    }
    return {};
  }

  // Whatever their lines.
  static std::uint64_t in_same_function(const std::map<std::string_view, std::uint64_t>& callers,
                                        std::string_view one) {
    const PythonPlace place = python_place(one);
    std::uint64_t samples = 0;
    for (const auto& [frame, count] : callers) {
      const PythonPlace other = python_place(frame);
      if (other.function == place.function && other.file == place.file) samples += count;
    }
    return samples;
  }

  static std::vector<RunningRow> rows(Groups& groups) {
    std::vector<RunningRow> all;
    for (auto& [key, sum] : groups) {
      if (!sum.lines.empty()) sum.row.line = most_of(sum.lines)->first;
      if (!sum.callers.empty()) {
        sum.row.caller = most_of(sum.callers)->first;
        sum.row.caller_samples = in_same_function(sum.callers, sum.row.caller);
        for (const auto& [frame, count] : sum.callers) sum.row.called_samples += count;
      }
      all.push_back(std::move(sum.row));
    }
    std::stable_sort(all.begin(), all.end(), [](const RunningRow& l, const RunningRow& r) { return l.ns > r.ns; });
    return all;
  }

  const Trace& trace_;
  Symbols& symbols_;
  const SampledSteps& steps_;
  const std::vector<Window>& collections_;
  Groups python_, code_;
};

}  // namespace

void RunningTime::merge(RunningTime&& other) {
  for (auto& [thread, windows] : other.collections_) {
    std::vector<Window>& own = collections_[thread];
    own.insert(own.end(), windows.begin(), windows.end());
  }
}

std::vector<RunningAnswer> RunningTime::finish(Symbols& symbols, const Window& window,
                                               const std::vector<Step>& steps) const {
  std::vector<RunningAnswer> all;
  for (const auto& [key, samples] : running_samples(timeline_->trace())) {
    const auto found = collections_.find(key);
    const std::vector<Window> collections = found == collections_.end() ? std::vector<Window>() : found->second;
    const SampledSteps sampled(samples, steps);
    ThreadSum sum(timeline_->trace(), symbols, sampled, collections);
    RunningAnswer answer;
    answer.thread = key;
    answer.steps = sampled.count();
    const Switching switching = switching_of(samples.supply);
    answer.run_ns = switching.run_ns;
    answer.kernel_part = switching.kernel_part;
    answer.step_cpu_ns = step_cpu_ns(samples.supply, steps);
    const auto is_asked = [&](const RunningSample& one) {
      return one.at_ns >= window.begin_ns && one.at_ns < window.end_ns;
    };
    for (const RunningSample& one : samples.python)
      if (is_asked(one)) sum.add_python(one, answer);
    for (const RunningSample& one : samples.code)
      if (is_asked(one)) sum.add_code(one, answer);
    sum.finish(answer);
    if (answer.python_samples + answer.code_samples > 0) all.push_back(std::move(answer));
  }
  std::stable_sort(all.begin(), all.end(), [](const RunningAnswer& l, const RunningAnswer& r) {
    return std::max(l.python_ns, l.code_ns) > std::max(r.python_ns, r.code_ns);
  });
  return all;
}

}  // namespace hostprobe::analysis
