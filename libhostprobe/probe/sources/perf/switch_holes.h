// switch_holes.h: times in which no switches were recorded, of any thread, on purpose.
//
// Room 2 (probe/). The writer thread. Few: where there are more than places, the two oldest become one, and what lies between them too.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

// All zeros: none.
class SwitchHoles {
 public:
  static constexpr unsigned kMost = 32;
  struct Hole {
    std::uint64_t begin_ticks, end_ticks;  // 0: it is open
  };

  bool is_open() const { return count_ > 0 && holes_[count_ - 1].end_ticks == 0; }
  void open(std::uint64_t ticks) {
    if (is_open()) return;
    if (count_ == kMost) {
      holes_[1].begin_ticks = holes_[0].begin_ticks;
      for (unsigned i = 1; i < count_; ++i) holes_[i - 1] = holes_[i];
      --count_;
    }
    holes_[count_++] = {ticks, 0};
  }
  void close(std::uint64_t ticks) {
    if (is_open()) holes_[count_ - 1].end_ticks = ticks;
  }
  // Those that ended before that.
  void forget(std::uint64_t before_ticks) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count_; ++i)
      if (holes_[i].end_ticks == 0 || holes_[i].end_ticks > before_ticks) holes_[kept++] = holes_[i];
    count_ = kept;
  }
  const Hole* begin() const { return holes_; }
  const Hole* end() const { return holes_ + count_; }

 private:
  Hole holes_[kMost];
  unsigned count_;
};

}  // namespace hostprobe::probe
