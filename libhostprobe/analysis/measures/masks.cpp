// masks.cpp: see masks.h.
#include "masks.h"

#include <algorithm>

#include "trace/symbols.h"

namespace hostprobe::analysis {

// A call that failed has no CPUs in its record.
void Masks::add_call(const Event& event) {
  const bool is_call = event.type == EventType::kCall && event.record != nullptr;
  if (!is_call && event.type != EventType::kCounter) return;
  const Function& function = *event.function;
  if (is_call && word(*event.record, function.cpus) == 0) return;
  Calls& calls = calls_[{event.track->key(), is_call ? word(*event.record, function.site) : event.site}];
  if (!event.counted) calls.count += event.count;
  if (!is_call) return;
  if (calls.first_ns < 0) calls.first_ns = event.begin_ns;
  calls.cpus = word(*event.record, function.cpus);
  calls.mask = word(*event.record, function.mask);
  if (event.stack != 0) calls.stack = event.stack;
}

void Masks::merge(Masks&& other) {
  for (auto& [place, calls] : other.calls_) {
    const auto [own, is_new] = calls_.try_emplace(place, calls);
    if (!is_new) own->second.count += calls.count;
  }
}

std::vector<MaskAnswer> Masks::finish(Symbols& symbols, double start_ns) const {
  const Trace& trace = timeline_->trace();
  std::vector<MaskAnswer> masks;
  for (const auto& [place, calls] : calls_) {
    const CodePlace code = symbols.place(trace, place.second);
    MaskAnswer mask{.tid = place.first.tid,
                    .count = calls.count,
                    .at_ms = {},
                    .cpus = {},
                    .mask = calls.mask,
                    .function = code.function,
                    .library = code.library,
                    .stack = {}};
    if (calls.first_ns >= 0) mask.at_ms = 1e-6 * (calls.first_ns - start_ns);
    if (calls.cpus > 0) mask.cpus = calls.cpus;
    const auto stack = trace.stacks.find(calls.stack - 1u);
    if (calls.stack != 0 && stack != trace.stacks.end()) mask.stack = stack_text(trace, stack->second, symbols);
    masks.push_back(std::move(mask));
  }
  std::stable_sort(masks.begin(), masks.end(), [](const MaskAnswer& l, const MaskAnswer& r) {
    return l.at_ms.value_or(-1) < r.at_ms.value_or(-1);
  });
  return masks;
}

}  // namespace hostprobe::analysis
