// switch_rates.cpp: see switch_rates.h.
#include "probe/sources/perf/switch_rates.h"

#include <sys/mman.h>

namespace hostprobe::probe {
namespace {

constexpr std::uint64_t kSecondNs = 1000000000;
constexpr std::uint64_t kSteadyNs = 60 * kSecondNs;  // recorded for so long it starts anew with little patience
constexpr std::uint64_t kGoneNs = 120 * kSecondNs;   // one that nobody counts any more has ended

double seconds(std::uint64_t from_ns, std::uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) / static_cast<double>(kSecondNs) : 0;
}

double fallen(double level, double by) { return level > by ? level - by : 0; }

}  // namespace

bool SwitchRates::open(double times) {
  constexpr std::size_t kBytes = kPlaces * (sizeof(Place) + sizeof(std::uint16_t));
  *this = SwitchRates{};
  times_ = times;
  if (times <= 0) return true;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  madvise(memory, kBytes, MADV_DONTFORK);
  places_ = static_cast<Place*>(memory);
  touched_ = reinterpret_cast<std::uint16_t*>(places_ + kPlaces);
  return true;
}

void SwitchRates::close() {
  if (places_ != nullptr) munmap(places_, kPlaces * (sizeof(Place) + sizeof(std::uint16_t)));
  *this = SwitchRates{};
}

bool SwitchRates::is_stale(const Place& place) const {
  if (place.is_touched) return false;
  if (place.is_out) return looked_ns_ > place.runs_ns + kGoneNs;
  return place.since_ticks == 0 && looked_ns_ > place.looked_ns + kSecondNs;
}

// Threads come and go: a place is taken over from one that has not switched for long, but only where its own is not further on.
SwitchRates::Place* SwitchRates::place_of(std::uint32_t tid) {
  constexpr unsigned kMostSteps = 64;
  if (places_ == nullptr || tid == 0) return nullptr;
  Place* stale = nullptr;
  for (unsigned i = 0, at = tid * 2654435761u; i < kMostSteps; ++i) {
    Place& place = places_[(at + i) & (kPlaces - 1)];
    if (place.tid == tid) return &place;
    if (stale == nullptr && (place.tid == 0 || is_stale(place))) stale = &place;
    if (place.tid == 0) break;
  }
  if (stale == nullptr) return nullptr;
  left_out_ -= stale->is_out;
  calm_ -= stale->is_calm;
  absences_ -= stale->since_ticks != 0;
  *stale = {};
  stale->tid = tid;
  stale->looked_ns = looked_ns_;
  return stale;
}

const SwitchRates::Place* SwitchRates::find(std::uint32_t tid) const {
  constexpr unsigned kMostSteps = 64;
  if (places_ == nullptr || tid == 0) return nullptr;
  for (unsigned i = 0, at = tid * 2654435761u; i < kMostSteps; ++i) {
    const Place& place = places_[(at + i) & (kPlaces - 1)];
    if (place.tid == tid) return &place;
    if (place.tid == 0) return nullptr;
  }
  return nullptr;
}

bool SwitchRates::is_left_out(std::uint32_t tid) const {
  if (left_out_ == 0) return false;
  const Place* place = find(tid);
  return place != nullptr && place->is_out;
}

void SwitchRates::add(std::uint32_t tid, double switches) {
  if (!is_open()) return;
  together_ += switches;
  Place* place = place_of(tid);
  if (place == nullptr || place->is_out) return;  // the last ones of it
  place->fresh += switches;
  if (place->is_touched) return;
  place->is_touched = true;
  touched_[touched_count_++] = static_cast<std::uint16_t>(place - places_);
}

void SwitchRates::begin_absence(Place& place, const RateMoment& now) {
  const bool soon = place.back_ns != 0 && now.ns < place.back_ns + kSteadyNs;
  const unsigned longer = 2 * place.patience_s;
  place.patience_s = !soon ? kLeastPatienceS : longer < kMostPatienceS ? longer : kMostPatienceS;
  place.is_out = true;
  place.runs = place.runs_ns = place.calm_ns = 0;
  place.runs_ns = now.ns;
  ++left_out_;
  if (place.since_ticks == 0) {
    place.since_ticks = now.ticks;
    ++absences_;
  }
  place.until_ticks = 0;  // what lies between two that are not in the file yet counts as one
}

void SwitchRates::end_absence(Place& place, const RateMoment& now) {
  place.is_out = false;
  calm_ -= place.is_calm;
  place.is_calm = false;
  place.until_ticks = now.ticks;
  place.back_ns = place.looked_ns = now.ns;
  place.level = place.fresh = 0;
  --left_out_;
}

bool SwitchRates::leave_out_those_above(const RateMoment& now, double (*weight_of)(std::uint32_t tid)) {
  const double most = kMostASecond * times_;
  bool any = false;
  for (unsigned i = 0; i < touched_count_; ++i) {
    Place& place = places_[touched_[i]];
    const double passed_s = seconds(place.looked_ns, now.ns);
    const double level = fallen(place.level, most * passed_s) + place.fresh;
    place.looked_ns = now.ns;
    // Seldom asked: most threads are far below.
    const double weight = level > most * kBurstS ? weight_of(place.tid) : 1;
    place.level = weight > 1 ? fallen(level, most * (weight - 1) * passed_s) : level;
    if (place.level <= most * weight * kBurstS) continue;
    begin_absence(place, now);
    any = true;
  }
  return any;
}

// `allowed`: of all together, in the time that this look stands for.
bool SwitchRates::leave_out_heaviest(const RateMoment& now, double allowed, double (*weight_of)(std::uint32_t tid)) {
  double sum = 0;
  for (unsigned i = 0; i < touched_count_; ++i)
    if (Place& place = places_[touched_[i]]; !place.is_out) {
      sum += place.fresh;
      place.fresh /= weight_of(place.tid);
    }
  bool any = false;
  while (sum > allowed) {
    Place* heaviest = nullptr;
    for (unsigned i = 0; i < touched_count_; ++i)
      if (Place& place = places_[touched_[i]]; !place.is_out && (heaviest == nullptr || place.fresh > heaviest->fresh))
        heaviest = &place;
    if (heaviest == nullptr || heaviest->fresh <= 0) break;
    sum -= heaviest->fresh * weight_of(heaviest->tid);
    begin_absence(*heaviest, now);
    any = true;
  }
  return any;
}

void SwitchRates::forget_touched() {
  for (unsigned i = 0; i < touched_count_; ++i) {
    Place& place = places_[touched_[i]];
    place.fresh = 0;
    place.is_touched = false;
  }
  touched_count_ = 0;
  together_ = 0;
}

bool SwitchRates::look(const RateMoment& now, double (*weight_of)(std::uint32_t tid)) {
  if (!is_open()) return false;
  const double most = kMostTogether * times_, passed_s = looked_ns_ == 0 ? kBurstS / 2 : seconds(looked_ns_, now.ns);
  together_level_ = fallen(together_level_, most * passed_s) + together_;
  second_ += together_;
  if (now.ns >= second_ns_ + kSecondNs) {
    rate_ = second_ns_ == 0 ? 0 : second_ / seconds(second_ns_, now.ns);
    second_ns_ = now.ns;
    second_ = 0;
  }
  bool any = leave_out_those_above(now, weight_of);
  if (together_level_ > most * kBurstS) {
    any = leave_out_heaviest(now, most * passed_s, weight_of) || any;
    together_level_ = 0;
  }
  looked_ns_ = now.ns;
  forget_touched();
  return any;
}

// It is calm at half of what it may have, and where there is room for it among the others.
void SwitchRates::note_runs(std::uint32_t tid, std::uint64_t runs, std::uint64_t now_ns) {
  if (left_out_ == 0) return;
  Place* place = const_cast<Place*>(find(tid));
  if (place == nullptr || !place->is_out) return;
  const bool is_first = place->runs == 0 || runs < place->runs || now_ns <= place->runs_ns;
  place->rate = is_first ? 0 : static_cast<double>(runs - place->runs) / seconds(place->runs_ns, now_ns);
  place->runs = runs;
  place->runs_ns = now_ns;
  if (is_first) return;
  const bool has_room = rate_ + place->rate <= kMostTogether * times_ / 2;
  if (place->rate > kMostASecond * times_ / 2 || !has_room) {
    place->calm_ns = 0;
    calm_ -= place->is_calm;
    place->is_calm = false;
    return;
  }
  if (place->calm_ns == 0) place->calm_ns = now_ns;
  if (place->is_calm || now_ns < place->calm_ns + place->patience_s * kSecondNs) return;
  place->is_calm = true;
  rate_ += place->rate;
  ++calm_;
}

void SwitchRates::leave_out(std::uint32_t tid, std::uint64_t since_ticks, std::uint64_t until_ticks,
                            std::uint64_t now_ns) {
  Place* place = is_open() ? place_of(tid) : nullptr;
  if (place == nullptr) return;
  if (!place->is_out) begin_absence(*place, {now_ns, since_ticks});
  if (since_ticks < place->since_ticks) place->since_ticks = since_ticks;
  if (until_ticks != 0) end_absence(*place, {now_ns, until_ticks});
}

void SwitchRates::forget_absences(std::uint64_t before_ticks) {
  for (unsigned i = 0; absences_ > 0 && i < kPlaces; ++i) {
    Place& place = places_[i];
    if (place.since_ticks == 0 || place.until_ticks == 0 || place.until_ticks > before_ticks) continue;
    place.since_ticks = place.until_ticks = 0;
    --absences_;
  }
}

}  // namespace hostprobe::probe
