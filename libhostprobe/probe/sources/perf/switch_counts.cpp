// switch_counts.cpp: see switch_counts.h.
#include "probe/sources/perf/switch_counts.h"

#include <sys/mman.h>

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kTwiceTicks = 50000;  // the events of a thread write one after the other, within a switch

}  // namespace

bool SwitchCounts::open() {
  constexpr std::size_t kBytes = kPlaces * sizeof(Place);
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, kBytes, MADV_DONTFORK);
  places_ = static_cast<Place*>(memory);
  return true;
}

void SwitchCounts::close() {
  if (places_ != nullptr) munmap(places_, kPlaces * sizeof(Place));
  places_ = nullptr;
}

// Nobody leaves: the id of a thread that ended comes back with a smaller count.
SwitchCounts::Place* SwitchCounts::place_of(std::uint32_t tid) {
  constexpr unsigned kMostSteps = 64;
  if (places_ == nullptr || tid == 0) return nullptr;
  for (unsigned i = 0, at = tid * 2654435761u; i < kMostSteps; ++i) {
    Place& place = places_[(at + i) & (kPlaces - 1)];
    if (place.tid == 0) place.tid = tid;
    if (place.tid == tid) return &place;
  }
  return nullptr;
}

void SwitchCounts::note(std::uint32_t tid, std::uint64_t count, std::uint64_t ticks, bool born_since) {
  Place* place = place_of(tid);
  if (place == nullptr) return;
  if (!place->is_counted && (!born_since || place->is_forgotten)) {
    place->base = count;
    place->since_ticks = ticks;
    place->seen = place->later = 0;
  } else {
    place->count = count;
    place->count_ticks = ticks;
  }
  place->is_counted = true;
}

void SwitchCounts::forget(Place& place) {
  place.is_counted = false;
  place.is_forgotten = true;
  place.count_ticks = 0;
}

void SwitchCounts::forget(std::uint32_t tid) {
  if (Place* place = place_of(tid); place != nullptr) forget(*place);
}

void SwitchCounts::forget_all() {
  for (unsigned i = 0; places_ != nullptr && i < kPlaces; ++i)
    if (places_[i].tid != 0) forget(places_[i]);
}

bool SwitchCounts::add(const SwitchRow& row, std::uint32_t ring) {
  Place* place = place_of(row.tid);
  if (place == nullptr) return true;
  const bool is_in = row.what == kSwitchedIn;
  const std::uint64_t apart =
      row.ticks > place->last_ticks ? row.ticks - place->last_ticks : place->last_ticks - row.ticks;
  const bool twice = place->ring == ring + 1 && place->last_what == row.what && apart < kTwiceTicks;
  place->ring = ring + 1;
  place->last_what = row.what;
  place->last_ticks = row.ticks;
  if (twice) return false;
  if (!is_in || row.ticks <= place->since_ticks) return true;
  ++(place->count_ticks != 0 && row.ticks > place->count_ticks ? place->later : place->seen);
  return true;
}

std::uint64_t SwitchCounts::settle(bool comparable) {
  std::uint64_t missing = 0;
  for (unsigned i = 0; places_ != nullptr && i < kPlaces; ++i) {
    Place& place = places_[i];
    if (place.tid == 0 || place.count_ticks == 0) continue;
    if (place.count < place.base) place.base = 0, place.seen = place.count;  // another thread with the same id
    const std::uint64_t expected = place.count - place.base;
    if (comparable && expected > place.seen) missing += expected - place.seen;
    place.base = place.count;
    place.since_ticks = place.count_ticks;
    place.count_ticks = 0;
    place.seen = place.later;
    place.later = 0;
  }
  return missing;
}

}  // namespace hostprobe::probe
