// lost_parts.h: one step as it is explained: the parts of each rank's time with their causes, and its waits for other ranks.
//
// Room 3. A rank that waits pays for what made the other one late, and that lies before: it is what the other lost since both had last
// met, beyond what the one that waits lost itself (Scalasca's delay costs).
#pragma once

#include <map>
#include <vector>

#include "analysis/graph/job_graph.h"
#include "answer/cause.h"
#include "model/window.h"

namespace hostprobe::analysis {

// A thread in a call, or in none, and the thread that made it wait there.
struct Spot {
  const HostThread* thread = nullptr;
  const HostCall* call = nullptr;
  const HostThread* holder = nullptr;
};

struct LostPart {
  Window window;
  double ns = 0;  // of it: the rest of the window is another part
  Cause cause = Cause::kUnexplained;
  std::uint32_t member = 0;  // where the cause sits
  Spot spot;
  bool waits = false;                   // another rank's loss, for which this one waits
  const HostThread* delayed = nullptr;  // of this rank, where the spot is another's
  bool on_gpu = false;                  // a stream stood still, and not the spot's thread
  Window at = {0, 0};                   // where it was laid over another time, its own (lay_over)
  bool is_repeated = false;             // of another rank's part, which is in that rank's list

  const Window& own_window() const { return at.length_ns() > 0 ? at : window; }
  // Of this rank's time: parts of one stretch divide it.
  const Window& stretch() const { return is_repeated ? window : own_window(); }
};

struct PeerWait {
  Window window;
  double ns = 0;  // of it
  Spot spot;
  std::int32_t last = -1;  // who was waited for; -1: whoever waited least meanwhile
  double met_ns = -1e300;  // when both were last known to be in one place; < the step: then
};

class LostParts {
 public:
  // `slow`: ranks whose GPU is. `on_gpu`: ranks whose GPU's work is known.
  LostParts(const std::vector<double>& slow, std::vector<char> on_gpu) : slow_(slow), on_gpu_(std::move(on_gpu)) {}

  void enter(const Window& step);
  void add(std::uint32_t member, const LostPart& part);
  void add_wait(std::uint32_t member, const PeerWait& wait);
  // What is added from now on lies in `own`, which is longer than `over`, and is laid over that by lay_no_more: a cause gets as much as
  // would be gone without it, the heaviest first (StragglerAnalysis: price by removal). Waits for others are evenly shortened.
  void lay_over(const Window& own, const Window& over) { own_ = own, over_ = over; }
  void lay_no_more();
  // Puts parts in the place of the waits.
  void resolve();
  const std::vector<std::vector<LostPart>>& parts() const { return parts_; }

 private:
  struct OpenWait {
    std::uint32_t member;
    PeerWait wait;
  };
  std::uint32_t last_of(const OpenWait& open) const;
  // By time, of both lists.
  std::vector<LostPart> parts_in(std::uint32_t member, const Window& window) const;
  double waiting_ns(std::uint32_t member, const Window& window) const;
  void resolve(const OpenWait& open);
  std::vector<LostPart> delays_of(std::uint32_t last, std::uint32_t member, const Window& since) const;
  void put(std::uint32_t member, LostPart part);

  const std::vector<double>& slow_;
  const std::vector<char> on_gpu_;
  bool is_laying() const { return own_.length_ns() > 0; }
  double shortened() const { return is_laying() ? over_.length_ns() / own_.length_ns() : 1; }
  Window laid(const Window& window) const;
  std::map<Cause, double> kept_parts() const;

  struct LaidPart {
    std::uint32_t member;
    LostPart part;
  };
  Window step_, own_ = {0, 0}, over_ = {0, 0};
  std::vector<LaidPart> laid_;
  double laid_wait_ns_ = 0;
  std::vector<std::vector<LostPart>> parts_;  // of each member, by time
  std::vector<std::vector<LostPart>>
      put_;  // in the place of waits; apart until all are there, for the lists are long without steps
  std::vector<std::vector<PeerWait>> waits_;  // the same
};

}  // namespace hostprobe::analysis
