// slice_order.cpp: see slice_order.h.
#include "slice_order.h"

#include <algorithm>
#include <iterator>

namespace hostprobe::analysis {
namespace {

void sort_slices(std::vector<Slice>& slices) {
  std::stable_sort(slices.begin(), slices.end(),
                   [](const Slice& l, const Slice& r) { return l.first_sequence < r.first_sequence; });
}

void drop_repeated(std::vector<Slice>& slices) {
  sort_slices(slices);
  std::vector<Slice> kept;
  kept.reserve(slices.size());
  for (Slice slice : slices) {
    const std::uint64_t known = kept.empty() ? 0 : kept.back().end_sequence();
    if (!kept.empty() && slice.first_sequence < known) {
      if (slice.end_sequence() <= known || slice.count != slice.slots) continue;
      slice.drop_first(static_cast<std::uint32_t>(known - slice.first_sequence));
    }
    kept.push_back(slice);
  }
  slices = std::move(kept);
}

// The parts of `slice` that are in none of `taken`, which are in order.
void add_rest(Slice slice, const std::vector<Slice>& taken, std::vector<Slice>& out) {
  auto next = std::upper_bound(taken.begin(), taken.end(), slice.first_sequence,
                               [](std::uint64_t first, const Slice& other) { return first < other.end_sequence(); });
  for (; next != taken.end() && next->first_sequence < slice.end_sequence(); ++next) {
    if (slice.count != slice.slots) return;  // nobody knows which numbers its records have
    if (slice.first_sequence < next->first_sequence) {
      Slice before = slice;
      before.drop_last(static_cast<std::uint32_t>(slice.end_sequence() - next->first_sequence));
      out.push_back(before);
    }
    if (slice.end_sequence() <= next->end_sequence()) return;
    slice.drop_first(static_cast<std::uint32_t>(next->end_sequence() - slice.first_sequence));
  }
  out.push_back(slice);
}

}  // namespace

void order_slices(std::vector<Slice>& slices) {
  const auto first_summed = std::stable_partition(slices.begin(), slices.end(), [](const Slice& slice) {
    return slice.aggregated == 0 || slice.aggregated < slice.count;
  });
  std::vector<Slice> aggregated(first_summed, slices.end());
  slices.erase(first_summed, slices.end());
  drop_repeated(slices);
  if (aggregated.empty()) return;
  drop_repeated(aggregated);
  std::vector<Slice> rest;
  for (const Slice& slice : aggregated) add_rest(slice, slices, rest);
  slices.insert(slices.end(), rest.begin(), rest.end());
  sort_slices(slices);
}

}  // namespace hostprobe::analysis
