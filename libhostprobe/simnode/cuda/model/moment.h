// A point in virtual time that something may wait for: where an event was recorded, where a stream's queue will end.
// Unknown until everything before it has been scheduled and its effects have run; then fixed for good.
#pragma once
#include <cstdint>
#include <memory>

namespace simnode {

struct Stream;

struct SharedMoment;

struct Moment {
  bool known = false;
  int64_t at_ns = 0;
  Stream* stream = nullptr;  // where it will be fixed; only compared and driven while unknown
  // Other processes are told when it becomes known (shared_moment.h): the record of this number of an event they share.
  std::shared_ptr<SharedMoment> shared;
  uint64_t shared_number = 0;
};
using MomentRef = std::shared_ptr<Moment>;

// Fixes it for good.
void make_known(Moment& moment, int64_t at_ns);

}  // namespace simnode
