// A communicator as one rank holds it: what ncclComm_t points to. Its life: made and registered (init state in progress),
// ranks have met (success), connected by the first operation, finalised or aborted, destroyed. Kernels in flight keep it.
#pragma once
#include "bootstrap.h"
#include "progress.h"
#include "segment.h"
#include "service.h"
#include "settings.h"

#include "node/futex.h"

#include <cuda.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace simnode::nccl {

struct UserOp {
  ncclDataType_t type;
  const void* scalar;  // in device memory, or null:
  uint64_t scalar_value;
};

// Where a rank of a communicator comes from in the job: faults and hosts are by the job's ranks.
struct Origin {
  int world_rank, world_ranks;
};

class Communicator {
 public:
  Communicator(bool blocking, Origin origin)
      : blocking_(blocking), origin_(origin), progress_(*this), service_(*this) {}
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  void place(int rank, int ranks) { rank_ = rank, ranks_ = ranks; }
  // Takes the calling thread's device; the rest (`init`) may run on another thread.
  ncclResult_t take_device();
  ncclResult_t init(const ncclUniqueId& id);
  // Host side of the first operation: blocks until every rank has come that far.
  ncclResult_t connect();
  ncclResult_t connect_pairs(const std::vector<Work>& works);
  // Makes an id that the ranks whom `key` stands for find when they ask for it; `leader` is one of them.
  ncclResult_t share_id(int leader, uint64_t key, ncclUniqueId* id);
  // Every rank's `mine`, by rank. Blocks.
  ncclResult_t exchange(const void* mine, size_t bytes, std::vector<char>* all);
  // Blocks the host until done() or until the communicator is aborted or has failed.
  ncclResult_t wait_host(const std::function<bool()>& done, bool whatever_failed = false);

  void finalize();
  void abort();
  ncclResult_t revoke();
  void leave();  // stops the threads, closes the ring

  ncclResult_t async_error() const;
  void set_state(ncclResult_t state) { state_.store(state); }
  ncclResult_t state() const { return static_cast<ncclResult_t>(state_.load()); }
  ncclResult_t mismatch(const char* what);

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int device() const { return device_; }
  int world_rank() const { return origin_.world_rank; }
  Origin origin() const { return origin_; }
  bool blocking() const { return blocking_; }
  bool aborted() const { return abort_.load(std::memory_order_relaxed) != 0; }
  const std::atomic<uint32_t>& abort_flag() const { return abort_; }
  bool stopped() const { return aborted() || revoked_.load(std::memory_order_relaxed); }
  bool finalized = false;
  bool destroyed = false;
  bool suspended = false;
  std::atomic<int> busy{0};
  CUcontext context() const { return context_; }
  const Segment& segment() const { return segment_; }
  const Ring& ring() const { return ring_; }
  const Peer& peer(int rank) const { return peers_[static_cast<size_t>(rank)]; }
  Progress& progress() { return progress_; }
  bool run_progress() { return progress_running_ = progress_.start(); }
  bool progress_running() const { return progress_running_; }
  bool connected() const { return connected_; }
  void neighbour_gone(int direction);

  // The link of this rank for collectives (the slower of its two neighbours in the ring), and to one peer.
  const Link& ring_link() const { return *ring_link_; }
  const Link& link_to(int rank) const;

  // Counts of the progress thread, over the communicator's life.
  uint64_t collectives_done = 0;
  uint64_t chunks_done = 0;

  Mutex mutex;  // of what follows
  std::vector<std::unique_ptr<UserOp>> ops;
  std::vector<void*> registrations;
  uint64_t growths_seen = 0;
  std::string name;

 private:
  ncclResult_t open_segment();
  ncclResult_t check_devices();
  void describe(Peer* peer) const;
  ncclResult_t gather();

  int rank_ = 0, ranks_ = 0;
  const bool blocking_;
  const Origin origin_;
  int device_ = 0, numa_node_ = -1;
  CUcontext context_ = nullptr;
  char pci_id_[16] = "";
  Segment segment_;
  Ring ring_;
  std::vector<Peer> peers_;
  const Link* ring_link_ = nullptr;
  std::atomic<uint32_t> abort_{0};
  std::atomic<bool> revoked_{false};
  std::atomic<int> state_{ncclInProgress};
  bool connected_ = false;
  std::map<int, uint64_t> invites_seen_;  // by leader
  bool left_ = false;
  bool progress_running_ = false;
  Progress progress_;
  Service service_;
};

// While it lives, an abort of the communicator waits: a thread is still inside of it.
class BusyMark {
 public:
  explicit BusyMark(std::shared_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {
    communicator_->busy.fetch_add(1);
  }
  BusyMark(BusyMark&&) = default;
  BusyMark(const BusyMark&) = delete;
  BusyMark& operator=(const BusyMark&) = delete;
  ~BusyMark() {
    if (communicator_ != nullptr) communicator_->busy.fetch_sub(1);
  }

 private:
  std::shared_ptr<Communicator> communicator_;
};

// The living ones. A handle that is not among them (never made, or destroyed) finds nothing.
ncclComm_t add_communicator(std::shared_ptr<Communicator> communicator);
std::shared_ptr<Communicator> find_communicator(ncclComm_t handle);
void remove_communicator(ncclComm_t handle);

// The communicator, when it may be used for `call`; else the error as NCCL's own checks give it.
ncclResult_t find_ready(ncclComm_t handle, const char* call, std::shared_ptr<Communicator>* communicator);

}  // namespace simnode::nccl
