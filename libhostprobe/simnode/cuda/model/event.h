// An event: the moment of its most recent record. Waits capture that moment, so recording again does not disturb them.
#pragma once
#include "handle.h"
#include "moment.h"

#include <cuda.h>
#include <memory>
#include <vector>

namespace simnode {

struct Capture;
struct Context;
struct GraphNode;

struct Event {
  static constexpr Kind kKind = Kind::kEvent;
  Context* context = nullptr;
  unsigned flags = 0;
  MomentRef moment;                      // null: never recorded, which counts as complete
  std::shared_ptr<SharedMoment> shared;  // an event of several processes: the latest record of any of them
  std::weak_ptr<Capture> capture;        // recorded in a stream that is being captured
  std::vector<GraphNode*> capture_ends;  // and after these nodes
};

}  // namespace simnode
