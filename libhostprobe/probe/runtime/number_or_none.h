// number_or_none.h: a descriptor or an id, or none: -1 to everybody who asks, and all zeros in memory (of_process.h).
//
// Room 2 (probe/).
#pragma once

namespace hostprobe::probe {

class NumberOrNone {
 public:
  constexpr NumberOrNone(int number = -1) : above_(number + 1) {}
  constexpr operator int() const { return above_ - 1; }

 private:
  int above_;
};

}  // namespace hostprobe::probe
