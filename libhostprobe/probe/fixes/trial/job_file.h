// job_file.h: where the ranks of a job on one host agree on what is tried: a file in the run folder that all of them map.
//
// Room 2 (probe/). The writer thread. It is named after the job, the host and the user, so ranks of other hosts are in another one, and
// are missing in this one. The lowest rank gives orders, one at a time; each rank says how far it is with the latest. Nobody waits here
// for anybody: every rank looks four times a second.
#pragma once

#include <cstdint>

namespace hostprobe::probe {

inline constexpr int kMostRanks = 1024;

enum OrderKind : std::uint32_t {
  kOrderNone,
  kOrderTry,     // put the fix on or off; then, once all have, measure a window
  kOrderSettle,  // put the fix on or off, for good
  kOrderWatch,   // measure a window
  kOrderOver,    // take back what was kept; nothing comes after it
};

struct JobOrder {
  std::uint32_t number;  // [atomic] stored last
  std::uint32_t kind;    // OrderKind
  std::uint32_t on;
  std::uint32_t go;  // [atomic] number of the order that all have obeyed: measure
  char fix[24];
};

struct JobMember {
  std::uint32_t state;  // [atomic] MemberState
  std::uint32_t pid;
  std::uint64_t seen_ns;   // [atomic] CLOCK_MONOTONIC, when it last looked
  std::uint32_t obeyed;    // [atomic] number of an order, as the next two
  std::uint32_t refused;   // [atomic] the fix changes nothing there
  std::uint32_t measured;  // [atomic] stored after mean_ns
  std::uint32_t stop;      // [atomic] 1: `fix off auto` there
  double mean_ns;          // of a step, in the window
  std::uint64_t unused[3];
};
static_assert(sizeof(JobMember) == 64);

enum MemberState : std::uint32_t { kNotThere, kThere, kLeft };

class JobFile {
 public:
  // kTaken: by another process of that rank. kBusy: another rank is joining; try again.
  enum class Join : std::uint8_t { kJoined, kTaken, kBusy, kFailed };

  // Hash of what names the job in the environment. By the thread that starts the recording.
  static std::uint64_t job_of(char** environment);

  // A job of one needs no file. errno tells why it failed.
  Join join(std::uint64_t job, int rank, int world);
  // The others see it at once. The last one removes the file.
  void leave();
  bool is_joined() const { return order_ != nullptr; }

  int world() const { return world_; }
  bool is_leader() const { return rank_ == 0; }
  JobOrder& order() const { return *order_; }
  JobMember& own() const { return members_[rank_]; }
  const JobMember& member(int rank) const { return members_[rank]; }

  void say_here(std::uint64_t now_ns);
  // How many are there; `gone`: the first one that is not, if any.
  int count_there(std::uint64_t now_ns, int& gone) const;
  void give(OrderKind kind, const char* fix, bool on);

 private:
  static constexpr std::uint64_t kGoneNs = 5'000'000'000;  // without a look: it ended, or was suspended

  Join join_in(int fd);
  bool take_place();

  JobOrder* order_;
  JobMember* members_;
  int rank_, world_;
  char path_[560];
};

}  // namespace hostprobe::probe
