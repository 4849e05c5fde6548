// trial.cpp: see trial.h. The interval is that of Wilcoxon's signed ranks: the median of all averages of two differences, and those of
// them between which it lies. It knows no distribution: one window with a hiccup moves it by one rank.
#include "probe/fixes/trial/trial.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kPairsOfALook = 8;
constexpr double kErrorOfALook = 0.05 / 3;
constexpr unsigned kMostSums = Trial::kMostPairs * (Trial::kMostPairs + 1) / 2;

void sort(double* numbers, unsigned count) {
  for (unsigned gap = count / 2; gap > 0; gap /= 2)
    for (unsigned i = gap; i < count; ++i) {
      const double one = numbers[i];
      unsigned at = i;
      for (; at >= gap && one < numbers[at - gap]; at -= gap) numbers[at] = numbers[at - gap];
      numbers[at] = one;
    }
}

double middle_of(const double* sorted, unsigned count) {
  return count % 2 != 0 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

// How many of the averages lie outside the interval, at either end: the most for which the signed ranks of `count` differences add up
// to fewer with half of `error`. `none`: there is no such interval.
unsigned outside(unsigned count, double error, bool& none) {
  double ways[kMostSums + 1] = {1};  // to make each sum of some of the ranks 1 … count, as a share of all
  unsigned most = 0;
  for (unsigned rank = 1; rank <= count; ++rank) {
    most += rank;
    for (unsigned sum = most + 1; sum-- > 0;) ways[sum] = (ways[sum] + (sum >= rank ? ways[sum - rank] : 0)) / 2;
  }
  unsigned sum = 0;
  double below = ways[0];
  none = below > error / 2;
  while (below + ways[sum + 1] <= error / 2) below += ways[++sum];
  return sum;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[] = {"open", "kept", "useless", "harmful", "undecided"};
  return kNames[static_cast<unsigned>(verdict)];
}

void Trial::begin(std::uint64_t seed) {
  *this = {};
  order_ = seed + 0x9e3779b97f4a7c15;
  order_ = (order_ ^ order_ >> 30) * 0xbf58476d1ce4e5b9;
  order_ = (order_ ^ order_ >> 27) * 0x94d049bb133111eb;
  order_ ^= order_ >> 31;
}

bool Trial::next_is_on() const { return ((order_ >> pairs() ^ windows_) & 1) != 0; }

void Trial::add(double ns) {
  if (pairs() >= kMostPairs) return;
  ns_[next_is_on() ? 1 : 0][pairs()] = ns;
  ++windows_;
}

Verdict Trial::verdict() const {
  Gain shown{};
  if (windows_ % (2 * kPairsOfALook) != 0 || !gain(shown)) return Verdict::kOpen;
  if (shown.low > 0 && shown.middle >= kLeastGain) return Verdict::kKeep;
  if (shown.high < 0) return Verdict::kHarmful;
  return shown.high < kLeastGain || pairs() >= kMostPairs ? Verdict::kNoGain : Verdict::kOpen;
}

double Trial::median_ns(bool on) const {
  double sorted[kMostPairs];
  for (unsigned i = 0; i < pairs(); ++i) sorted[i] = ns_[on ? 1 : 0][i];
  sort(sorted, pairs());
  return pairs() == 0 ? 0 : middle_of(sorted, pairs());
}

double Trial::usual_most_ns() const {
  double sorted[kMostPairs];
  for (unsigned i = 0; i < pairs(); ++i) sorted[i] = ns_[0][i];
  sort(sorted, pairs());
  const double most = pairs() == 0 ? 0 : sorted[pairs() < 2 ? 0 : pairs() - 2];
  const double least = median_ns(false) * (1 + kLeastGain / 100);
  return most > least ? most : least;
}

bool Trial::gain(Gain& gain) const {
  const unsigned count = pairs();
  if (count == 0) return false;
  double averages[kMostSums];
  unsigned used = 0;
  const auto saved = [this](unsigned i) { return 100 * (1 - ns_[1][i] / ns_[0][i]); };
  for (unsigned i = 0; i < count; ++i)
    for (unsigned k = i; k < count; ++k) averages[used++] = (saved(i) + saved(k)) / 2;
  sort(averages, used);
  bool none = false;
  const unsigned beyond = outside(count, kErrorOfALook, none);
  gain = {averages[beyond], middle_of(averages, used), averages[used - 1 - beyond]};
  return !none;
}

}  // namespace hostprobe::probe
