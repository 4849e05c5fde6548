// samples.cpp: see samples.h.
#include "samples.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "format/samples.h"
#include "trace/trace.h"

namespace hostprobe::analysis {
namespace {

template <typename Sample>
void sort_by_time(std::vector<Sample>& samples) {
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& l, const Sample& r) { return l.at_ns < r.at_ns; });
}

SupplySample supply_of(const SampleRow& row, double at_ns) {
  return {at_ns - 1e3 * row.running_us,
          at_ns,
          1e3 * static_cast<double>(row.address >> 32),
          1e3 * static_cast<double>(row.address & UINT32_MAX),
          1e7 * row.call,
          row.stack};
}

void add_row(const SampleRow& row, double at_ns, ThreadSamples& own) {
  const RunningSample running{at_ns, 1e3 * row.running_us, row.address, row.stack};
  if (row.kind == kSamplePython) own.python.push_back(running);
  if (row.kind == kSampleCode) own.code.push_back(running);
  if (row.kind == kSampleFaultPlace) own.fault_places.push_back({at_ns, 0, row.address, 0});
  if (row.kind == kSampleFaults)
    own.faults.push_back(
        {at_ns, 1e3 * static_cast<double>(row.address >> 32), running.ns, row.address & UINT32_MAX, row.stack});
  if (row.kind == kSampleSupply) own.supply.push_back(supply_of(row, at_ns));
  if (row.kind == kSampleBlocked) own.blocked.push_back({at_ns, row.address, row.stack, row.call - 1});
}

}  // namespace

std::map<ThreadKey, ThreadSamples> running_samples(const Trace& trace) {
  std::map<ThreadKey, ThreadSamples> all;
  TickReader ticks(trace.clock);
  for (const BlockBytes& block : trace.samples)
    for (std::uint64_t at = 0; at + sizeof(SampleRow) <= block.count; at += sizeof(SampleRow)) {
      SampleRow row;
      std::memcpy(&row, block.bytes + at, sizeof row);
      if (row.kind < kSamplePython || row.kind > kSampleSupply) continue;
      const Thread* thread = trace.thread_at(row.tid, row.ticks);
      if (thread == nullptr) continue;
      add_row(row, ticks.since_first_ns(row.ticks), all[thread->key]);
    }
  for (auto& [key, own] : all) {
    sort_by_time(own.python);
    sort_by_time(own.code);
    sort_by_time(own.blocked);
    sort_by_time(own.faults);
    sort_by_time(own.fault_places);
    std::stable_sort(own.supply.begin(), own.supply.end(),
                     [](const SupplySample& l, const SupplySample& r) { return l.end_ns < r.end_ns; });
  }
  return all;
}

PythonPlace python_place(std::string_view frame) {
  const auto open = frame.rfind(" (");
  if (open == std::string_view::npos || !frame.ends_with(')')) return {std::string(frame), "", 0};
  PythonPlace place{std::string(frame.substr(0, open)), "", 0};
  std::string_view file = frame.substr(open + 2, frame.size() - open - 3);
  const auto colon = file.rfind(':');
  if (colon != std::string_view::npos) {
    const char* end = file.data() + file.size();
    const auto [rest, error] = std::from_chars(file.data() + colon + 1, end, place.line);
    if (error == std::errc() && rest == end)
      file = file.substr(0, colon);
    else
      place.line = 0;
  }
  place.file = file;
  return place;
}

std::string_view innermost_frame(const Trace& trace, std::uint32_t stack) {
  const auto found = trace.stacks.find(stack - 1u);
  if (stack == 0 || found == trace.stacks.end() || found->second.python.empty()) return {};
  return trace.strings.text(found->second.python.front());
}

}  // namespace hostprobe::analysis
