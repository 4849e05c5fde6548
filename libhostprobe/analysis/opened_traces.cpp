// opened_traces.cpp: see opened_traces.h.
#include "opened_traces.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "analysis/graph/parallel.h"
#include "analysis/measures/process_task.h"
#include "analysis/measures/steps.h"
#include "analysis/ranks/collective_kernels.h"
#include "one_step.h"
#include "process.h"
#include "trace/file_bytes.h"
#include "trace/kernel_rows.h"
#include "trace/reader.h"
#include "trace/symbols.h"

namespace hostprobe::analysis {
namespace {

constexpr double kAgree = 0.1;  // two ranks' mean steps, at most so far apart

StepChoice choice_of(const Trace& trace, const StepQuery& query) {
  if (query.choice != StepChoice::kAuto) return query.choice;
  return trace.header.steps == kStepsOff     ? StepChoice::kOff
         : trace.header.steps == kStepsMarks ? StepChoice::kMarks
                                             : StepChoice::kAuto;
}

void hold_collectives(Opened& opened, const MemoryBudget& budget) {
  const auto records = std::exchange(opened.work.collective_records, nullptr);
  if (!budget.has_room()) return;
  for (auto& [track, own] : *records) own.shrink_to_fit();
  opened.timeline->hold_collectives(std::move(*records));
}

// What a trace was unpacked into lies scattered in the heap; the next one takes it again, so it is given back to the system
// only where it would stand in the way of the budget.
void give_back_scattered(const MemoryBudget& budget) {
  std::size_t all = 0, resident = 0, of_files = 0;  // pages
  std::ifstream("/proc/self/statm") >> all >> resident >> of_files;
  if ((resident - of_files) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) > budget.bytes() / 2) malloc_trim(0);
}

// Runs what may find a file damaged, which is then all that is said of it.
template <typename Read>
bool try_to_read(Opened& opened, Read read) {
  try {
    read();
    return true;
  } catch (const TraceError& error) {
    opened.unreadable = Unreadable{opened.path, error.what(), error.offset};
  } catch (const std::system_error& error) {
    opened.unreadable = Unreadable{opened.path, error.what(), 0};
  }
  opened.timeline.reset();
  opened.trace.reset();
  return false;
}

// Up to what its GPU got to do.
void open_one(Opened& opened, Symbols& symbols, MemoryBudget& budget) {
  try_to_read(opened, [&] {
    opened.trace = std::make_unique<Trace>(read_trace(opened.path, &budget));
    opened.is_kernel = is_kernel_trace(*opened.trace);
    if (opened.is_kernel) return;
    opened.timeline = std::make_unique<Timeline>(*opened.trace, symbols);
    opened.device = exact_device(*opened.timeline);
    if (opened.device == nullptr) opened.gpu_work = std::make_unique<HostedWork>(hosted_work(*opened.timeline));
  });
}

void answer_one(Opened& opened, Symbols& symbols, MemoryBudget& budget, unsigned cores, const StepQuery& query,
                bool has_kernel) {
  bool is_kept = false;
  const bool is_read = try_to_read(opened, [&] {
    const StepPlan plan = plan_steps(*opened.timeline, choice_of(*opened.trace, query));
    const std::shared_ptr<const DeviceTimeline> device = opened.device;
    opened.answer = analyse_process(*opened.timeline, symbols, cores, plan, {}, device.get(), &opened.work);
    opened.kernels = std::make_shared<const CollectiveKernels>(*device);
    // What is exact can be read again.
    if (is_read_again(*device) && !budget.has_room()) opened.device.reset();
    hold_collectives(opened, budget);
    const bool works_for_job = !opened.work.collectives.ranks.empty() || !device->activities.empty() ||
                               !opened.answer->steps.steps.empty() ||
                               task_of(*opened.answer) == ProcessTask::kDataLoader || writes_into_pipes(*opened.trace);
    is_kept = query.is_one() || works_for_job || has_kernel;
    if (!is_kept) return;
    opened.trace->release();
    give_back_scattered(budget);
  });
  if (!is_read || is_kept) return;
  opened.work.blocked.reset();
  opened.timeline.reset();
  opened.trace.reset();
}

void tell_devices(std::vector<Opened>& opened) {
  std::vector<Opened*> own;
  std::vector<HostedWork> works;
  for (Opened& one : opened) {
    if (one.gpu_work == nullptr) continue;
    works.push_back(std::move(*std::exchange(one.gpu_work, nullptr)));
    own.push_back(&one);
  }
  auto devices = devices_of(std::move(works));
  for (std::size_t i = 0; i < own.size(); ++i) own[i]->device = std::move(devices[i]);
}

// In the middle, or of so many of them: by the mean, because a median is another one where one rank alone is now and then held up at
// the end of a step, and the others in the next; or by the median, because where steps are left out (calls are missing) long ones are
// so more often.
struct UsualStep {
  double mean_ns = 0, median_ns = 0;
  bool agrees_with(const UsualStep& other) const {
    const auto is_near = [](double l, double r) { return std::abs(l - r) <= kAgree * r; };
    return is_near(mean_ns, other.mean_ns) || is_near(median_ns, other.median_ns);
  }
};

UsualStep usual_step(const StepAnswer& steps) {
  const auto count = static_cast<double>(std::max<std::uint64_t>(1, steps.lengths.count));
  return {steps.lengths.total_ns / count, steps.lengths.median_ns};
}

UsualStep middle_of(const std::vector<UsualStep>& all) {
  std::vector<double> means, medians;
  for (const UsualStep& one : all) {
    means.push_back(one.mean_ns);
    medians.push_back(one.median_ns);
  }
  return {lengths_of(std::move(means)).median_ns, lengths_of(std::move(medians)).median_ns};
}

bool is_detected_of_job(const Opened& one) {
  return one.answer && !one.work.collectives.ranks.empty() && one.answer->steps.source == StepSource::kDetected;
}

}  // namespace

std::shared_ptr<const DeviceTimeline> Opened::read_device() const {
  return device ? device : std::make_shared<const DeviceTimeline>(exact_timeline(*trace));
}

std::vector<Opened> read_all(const std::vector<std::string>& paths, Symbols& symbols, MemoryBudget& budget,
                             const Progress& progress, unsigned cores, const StepQuery& query, bool has_kernel) {
  std::uint64_t all = 0, done = 0;
  for (const std::string& trace : paths) all += file_bytes(trace);
  std::mutex mutex;
  std::vector<Opened> opened(paths.size());
  // Where there are fewer traces than cores, the threads of a trace share the rest.
  const auto inner = static_cast<unsigned>(std::max<std::size_t>(1, cores / std::max<std::size_t>(1, paths.size())));
  const auto tell = [&](std::uint64_t more) {
    const std::lock_guard lock(mutex);
    done += more;
    if (progress) progress(done, all);
  };
  tell(0);
  run_parallel(paths.size(), cores, [&](std::size_t i) {
    opened[i].path = paths[i];
    open_one(opened[i], symbols, budget);
  });
  tell_devices(opened);
  run_parallel(paths.size(), cores, [&](std::size_t i) {
    if (opened[i].timeline != nullptr) answer_one(opened[i], symbols, budget, inner, query, has_kernel);
    tell(file_bytes(paths[i]));
  });
  if (progress) progress(all, all);
  return opened;
}

void drop_disagreeing(std::vector<Opened>& opened) {
  std::vector<UsualStep> all;
  for (const Opened& one : opened)
    if (is_detected_of_job(one)) all.push_back(usual_step(one.answer->steps));
  if (all.size() < 2) return;
  const UsualStep middle = middle_of(all);
  const auto agrees = [&middle](const UsualStep& one) { return one.agrees_with(middle); };
  const bool most_agree = 2 * std::count_if(all.begin(), all.end(), agrees) > std::ssize(all);
  for (Opened& one : opened) {
    if (!is_detected_of_job(one) || (most_agree && agrees(usual_step(one.answer->steps)))) continue;
    one.answer->steps = {};
    one.answer->start_up.reset();
    one.answer->steady.reset();
  }
}

OneStep limit_to_one(std::vector<Opened>& opened, const StepQuery& query, Symbols& symbols, unsigned cores) {
  std::vector<SteppedProcess> processes;
  std::vector<Opened*> stepped;
  for (Opened& one : opened) {
    if (!one.answer) continue;
    processes.push_back({one.timeline.get(), &*one.answer, &one.work, one.device.get()});
    stepped.push_back(&one);
  }
  const std::optional<std::uint64_t> number = query.slowest ? slowest_step(processes) : query.number;
  if (!number) throw std::invalid_argument("no step of this run has a place in time");
  const std::string known = known_steps_text(processes);
  std::optional<OneStep> step = limit_to_step(processes, *number, symbols, cores);
  if (!step)
    throw std::invalid_argument(
        "this run has no step " + std::to_string(*number) +
        (known.empty() ? ", and no other that has a place in time" : "; those that have a place in time are " + known));
  for (std::size_t i = 0; i < stepped.size(); ++i) stepped[i]->is_absent = !processes[i].lived_then;
  return std::move(*step);
}

std::map<std::string, const Opened*> by_trace(const std::vector<Opened>& opened) {
  std::map<std::string, const Opened*> by_path;
  for (const Opened& one : opened)
    if (one.timeline) by_path[one.path] = &one;
  return by_path;
}

}  // namespace hostprobe::analysis
