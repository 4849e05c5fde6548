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

// A thread in a call, or in none, and the thread that made it wait there, in what call.
struct Spot {
  const HostThread* thread = nullptr;
  const HostCall* call = nullptr;
  const HostThread* holder = nullptr;
  const HostCall* holder_call = nullptr;
  const HostCall* held_up =
      nullptr;  // of the thread that makes the steps, where the spot is another's: what waits for it
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
  std::uint64_t origin = 0;             // the number of that part, or of this one
  double origin_ns = 0;                 // of that part
  // Of a lack of a CPU, where it made a return late: why the thread was in the call that it came back from. kGpuBound: no such call.
  Cause returns_from = Cause::kGpuBound;

  const Window& own_window() const { return at.length_ns() > 0 ? at : window; }
  // Of this rank's time: parts of one stretch divide it.
  const Window& stretch() const { return is_repeated ? window : own_window(); }
};

inline constexpr double kNeverNs = -1e300;

struct PeerWait {
  Window window;
  double ns = 0;  // of it
  Spot spot;
  std::int32_t last = -1;    // who was waited for; -1: whoever waited least meanwhile
  double met_ns = kNeverNs;  // when both were last known to be in one place; kNeverNs: where the step begins
};

class LostParts {
 public:
  // `slow`: ranks whose GPU is. `on_gpu`: ranks whose GPU's work is known. `all_are_here`: the job has no other ranks.
  LostParts(const std::vector<double>& slow, std::vector<char> on_gpu, bool all_are_here = true)
      : slow_(slow), on_gpu_(std::move(on_gpu)), all_are_here_(all_are_here) {}

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
  bool is_worth_looking_back(std::uint32_t member, std::uint32_t last) const;
  void put_delays(const OpenWait& open, std::uint32_t last, const Window& since, double& left_ns);
  void put_older_delays(const OpenWait& open, std::uint32_t last, double& left_ns);
  void put_delay(const OpenWait& open, LostPart delay, double& left_ns);
  double uncharged_ns(const LostPart& loss, std::uint32_t member) const;
  void make_loss(std::uint32_t member, const Window& window, LostPart& part) const;
  std::vector<LostPart> losses_of(std::uint32_t member, const Window& window) const;
  std::map<Cause, double> own_losses_of(std::uint32_t member, const Window& window) const;
  std::vector<LostPart> delays_of(std::uint32_t last, std::uint32_t member, const Window& since) const;
  void put(std::uint32_t member, LostPart part);

  const std::vector<double>& slow_;
  const std::vector<char> on_gpu_;
  const bool all_are_here_;
  bool is_laying() const { return own_.length_ns() > 0; }
  double shortened() const { return is_laying() ? over_.length_ns() / own_.length_ns() : 1; }
  Window laid(const Window& window) const;
  void keep_before();
  void forget_before();
  void add_own(std::uint32_t member, const LostPart& part);
  // From here on it is known what each rank lost.
  double known_since_ns() const { return before_steps_.empty() ? step_.begin_ns : before_steps_.front().begin_ns; }
  std::map<Cause, double> kept_parts() const;

  struct LaidPart {
    std::uint32_t member;
    LostPart part;
  };
  Window step_, own_ = {0, 0}, over_ = {0, 0};
  std::vector<LaidPart> laid_;
  double laid_wait_ns_ = 0;
  // Of the steps before, as far as they follow each other: ranks run ahead of the steps' ends.
  std::vector<std::vector<LostPart>> before_;
  struct BeforeStep {
    double begin_ns;
    std::uint64_t origin;  // of its first part
  };
  std::vector<BeforeStep> before_steps_;
  std::uint64_t origins_ = 0, step_origin_ = 0;           // of the next part, of the step's first
  std::vector<std::map<std::uint64_t, double>> charged_;  // of each member: by origin, what it has waited for
  std::vector<std::vector<LostPart>> parts_;              // of each member, by time
  std::vector<std::vector<LostPart>>
      put_;  // in the place of waits; apart until all are there, for the lists are long without steps
  std::vector<std::vector<PeerWait>> waits_;  // the same
};

}  // namespace hostprobe::analysis
