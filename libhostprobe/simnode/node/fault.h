// Planted faults: SIMNODE_FAULT=`KIND,rank=R,from_ms=A,to_ms=B,amount=X;…`. What each kind acts on is in the README; where
// it acts, the code asks here and lengthens the very thing the fault is about. Nothing else is touched: what it does to
// other streams and ranks comes from the model. Shared by the simulated driver and the simulated NCCL.
#pragma once
#include <cstdint>
#include <vector>

namespace simnode {

enum class FaultKind : uint8_t {
  kSlowGpu,      // kernels last × amount
  kLaunchDelay,  // each launch call + amount µs
  kProxyDelay,   // each poll round of NCCL's progress thread + amount µs
  kSlowLink,     // bandwidth ÷ amount
  kLinkLatency,  // + amount µs
  kMissingRank,  // the rank stops entering collectives
  kLoadPause,    // a module load takes amount ms
  kAllocStall,   // an allocation or free takes amount µs and drains the device
};

struct Fault {
  FaultKind kind = FaultKind::kSlowGpu;
  int rank = -1;  // of the job; -1: every rank
  double from_ms = 0;
  double to_ms = -1;  // <0: for ever
  double amount = 0;
};

// Times count from `start_ns` (CLOCK_MONOTONIC), the process's cuInit; nothing acts before it is set. `at_ns` is the moment
// that is asked about, on the clock of streams or of the wall.
class Faults {
 public:
  // Reads SIMNODE_FAULT. A bad part is left out, and said in one line when `report`.
  explicit Faults(bool report);

  bool none() const { return list_.empty(); }
  // At some time, on this rank.
  bool has(FaultKind kind, int rank) const;
  // Of those that act on this rank then: the sum of the amounts, 0 when there is none …
  double amount(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns) const;
  // … their product, 1 when there is none …
  double factor(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns) const;
  // … and when the last of them ends: -1 none acts, INT64_MAX never.
  int64_t end_ns(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns) const;

 private:
  template <class Act>
  void each_acting(FaultKind kind, int rank, int64_t start_ns, int64_t at_ns, Act act) const;

  std::vector<Fault> list_;
};

// This process's rank in its job, from the launcher's variables; -1: it has none.
int job_rank();

}  // namespace simnode
