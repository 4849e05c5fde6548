// masks.h: who said which CPUs threads of the process may use.
//
// Room 3. A mask that the kernel narrowed by itself, or somebody from outside, is in no call.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "answer/thread.h"
#include "model/timeline.h"

namespace hostprobe::analysis {

class Masks {
 public:
  explicit Masks(const Timeline& timeline) : timeline_(&timeline) {}
  void add(const Event& event) {
    if (event.is(kSetsMask)) add_call(event);
  }
  void merge(Masks&& other);
  std::vector<MaskAnswer> finish(Symbols& symbols, double start_ns) const;

 private:
  struct Calls {
    std::uint64_t count = 0;
    double first_ns = -1;  // less than 0: it has no place in time
    std::uint64_t cpus = 0, mask = 0;
    std::uint16_t stack = 0;
  };
  void add_call(const Event& event);

  const Timeline* timeline_;
  std::map<std::pair<ThreadKey, std::uint64_t>, Calls> calls_;  // by the code that called
};

}  // namespace hostprobe::analysis
