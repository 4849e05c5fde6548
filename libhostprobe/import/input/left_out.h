// left_out.h: what an import could not use, or used in part: counted by kind, so that nothing is dropped unseen.
//
// Room 3.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace hostprobe::analysis {

class LeftOut {
 public:
  void add(const std::string& kind, std::uint64_t count = 1) {
    // A file may make kinds up.
    const bool known = counts_.size() < kMostKinds || counts_.contains(kind);
    counts_[known ? kind : "of other kinds"] += count;
  }
  void add(const LeftOut& other) {
    for (const auto& [kind, count] : other.counts_) add(kind, count);
  }
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  static constexpr std::size_t kMostKinds = 64;
  std::map<std::string, std::uint64_t> counts_;
};

}  // namespace hostprobe::analysis
