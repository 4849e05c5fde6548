// step.cpp: see step.h.
#include "step.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace hostprobe::analysis {
namespace {

// At most one of so many steps: a type is not the usual one, however long it takes.
constexpr std::uint64_t kRarePart = 10;

}  // namespace

const char* step_source_name(const StepAnswer& steps) {
  if (steps.source == StepSource::kNone) return "none";
  return steps.source == StepSource::kMarks && !steps.by_optimizer ? "marks" : "detected";
}

std::vector<SlowStep> StepAnswer::slowest(std::size_t most) const {
  std::vector<SlowStep> slow;
  slow.reserve(steps.size());
  for (const Step& step : steps) slow.push_back({step, step.length_ns() - types[step.type].lengths.median_ns});
  const auto end = slow.begin() + static_cast<std::ptrdiff_t>(std::min(most, slow.size()));
  std::partial_sort(slow.begin(), end, slow.end(), [](const SlowStep& l, const SlowStep& r) {
    return l.excess_ns != r.excess_ns ? l.excess_ns > r.excess_ns : l.step.begin_ns < r.step.begin_ns;
  });
  slow.erase(end, slow.end());
  return slow;
}

const Step* StepAnswer::numbered(std::uint64_t number) const {
  const auto found = std::find_if(steps.begin(), steps.end(), [number](const Step& s) { return s.number == number; });
  return found == steps.end() ? nullptr : &*found;
}

// A host that is ahead of its GPU waits in the steps that read a loss, and not in the others. So it is work of one kind that takes the
// time, and the usual type is the most frequent one that does it.
std::size_t StepAnswer::usual_type() const {
  struct Work {
    std::uint64_t count = 0;
    double ns = 0;
  };
  std::map<std::uint64_t, Work> works;
  std::uint64_t count = 0;
  for (const StepTypeAnswer& type : types) {
    Work& work = works[type.compute];
    work.count += type.lengths.count;
    work.ns += type.lengths.total_ns;
    count += type.lengths.count;
  }
  // What takes most of the time; what is rare only where all are.
  const auto rank = [&](const StepTypeAnswer& type) {
    const Work& work = works[type.compute];
    return std::tuple(work.count * kRarePart > count, work.ns, type.lengths.count);
  };
  const auto usual = std::max_element(
      types.begin(), types.end(), [&](const StepTypeAnswer& l, const StepTypeAnswer& r) { return rank(l) < rank(r); });
  return static_cast<std::size_t>(usual - types.begin());
}

double StepAnswer::usual_ns() const {
  return all_have_types() ? types[usual_type()].lengths.median_ns : lengths.median_ns;
}

}  // namespace hostprobe::analysis
