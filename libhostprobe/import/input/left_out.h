// left_out.h: what an import could not use, or used in part: counted by kind, with the place of the first, so that nothing is
// dropped unseen.
//
// Room 3.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace hostprobe::analysis {

// Of what stands at no one place of a text, as a row of a database.
inline constexpr std::uint64_t kNoPlace = UINT64_MAX;

struct LeftOutKind {
  std::uint64_t count = 0;
  std::optional<std::uint64_t> first_byte;  // of the text; nothing: they stand at no one place of it
};

class LeftOut {
 public:
  void add(const std::string& kind, std::uint64_t count = 1) { add(kind, LeftOutKind{count, {}}); }
  void add_at(const std::string& kind, std::uint64_t byte) {
    if (byte == kNoPlace) return add(kind);
    add(kind, LeftOutKind{1, byte});
  }
  void add(const LeftOut& other) {
    for (const auto& [kind, more] : other.kinds_) add(kind, more);
  }
  const std::map<std::string, LeftOutKind>& kinds() const { return kinds_; }

 private:
  static constexpr std::size_t kMostKinds = 64;

  void add(const std::string& kind, const LeftOutKind& more) {
    // A file may make kinds up.
    const bool known = kinds_.size() < kMostKinds || kinds_.contains(kind);
    LeftOutKind& own = kinds_[known ? kind : "of other kinds"];
    own.count += more.count;
    if (more.first_byte) own.first_byte = std::min(own.first_byte.value_or(*more.first_byte), *more.first_byte);
  }

  std::map<std::string, LeftOutKind> kinds_;
};

}  // namespace hostprobe::analysis
