// See communicator.h.
#include "communicator.h"

#include "driver.h"
#include "last_error.h"
#include "node/clock.h"

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

namespace simnode::nccl {

namespace {

constexpr int64_t kLookNs = 50000000;  // how often a blocked host call looks at the abort flag even if nobody rings

std::map<ncclComm_t, std::shared_ptr<Communicator>>& living() {
  static auto* const all = new std::map<ncclComm_t, std::shared_ptr<Communicator>>;
  return *all;
}
Mutex g_living_mutex;

int host_of(Origin origin) {
  int hosts = std::min(settings().hosts, origin.world_ranks);
  return static_cast<int>(static_cast<int64_t>(origin.world_rank) * hosts / origin.world_ranks);
}

}  // namespace

Communicator::~Communicator() { leave(); }

// Like the CUDA runtime, which NCCL sits on: no context yet means the primary one of device 0.
ncclResult_t Communicator::take_device() {
  const Driver* cuda = driver();
  if (cuda == nullptr) return fail(ncclUnhandledCudaError, "no usable driver");
  CUcontext current = nullptr;
  if (cuda->context_current(&current) == CUDA_ERROR_NOT_INITIALIZED) {
    NCCL_TRY(check_cuda(cuda->init(0), "cuInit"));
    NCCL_TRY(check_cuda(cuda->context_current(&current), "cuCtxGetCurrent"));
  }
  if (current == nullptr) {
    NCCL_TRY(check_cuda(cuda->retain_primary(&current, 0), "cuDevicePrimaryCtxRetain"));
    NCCL_TRY(check_cuda(cuda->set_context(current), "cuCtxSetCurrent"));
  }
  context_ = current;
  NCCL_TRY(check_cuda(cuda->context_device(&device_), "cuCtxGetDevice"));
  NCCL_TRY(check_cuda(cuda->pci_id(pci_id_, sizeof pci_id_, device_), "cuDeviceGetPCIBusId"));
  if (cuda->device_attribute(&numa_node_, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, device_) != CUDA_SUCCESS) numa_node_ = -1;
  return ncclSuccess;
}

void Communicator::describe(Peer* peer) const {
  *peer = {};
  peer->rank = rank_;
  peer->pid = static_cast<int>(getpid());
  peer->world_rank = origin_.world_rank;
  peer->host = host_of(origin_);
  peer->device = device_;
  memcpy(peer->pci_id, pci_id_, sizeof peer->pci_id);
  snprintf(peer->door, sizeof peer->door, "nccl-uds-%d-%p", peer->pid, static_cast<const void*>(this));
}

ncclResult_t Communicator::init(const ncclUniqueId& id) {
  NearDevice placement(numa_node_);
  Peer mine;
  describe(&mine);
  if (rank_ == 0 &&
      !segment_.create(ranks_, std::max(settings().chunk_bytes(), size_t{64} * static_cast<size_t>(ranks_)),
                       settings().p2p_chunk_bytes))
    return fail(ncclSystemError, "cannot make the shared memory of a communicator of %d ranks: %s", ranks_,
                strerror(errno));
  if (!service_.open_door(mine.door)) return fail(ncclSystemError, "cannot start the UDS service: %s", strerror(errno));
  NCCL_TRY(meet(id, ranks_, mine, abort_, &peers_, &ring_));
  NCCL_TRY(check_devices());
  NCCL_TRY(open_segment());
  if (!service_.start()) return fail(ncclSystemError, "cannot start the service thread: %s", strerror(errno));
  if (settings().ras) start_ras();
  const Link& before = link_to((rank_ + ranks_ - 1) % ranks_);
  ring_link_ = &link_to((rank_ + 1) % ranks_);
  if (before.bytes_per_ns < ring_link_->bytes_per_ns) ring_link_ = &before;
  return gather();
}

ncclResult_t Communicator::open_segment() {
  if (rank_ != 0) {
    int fd = receive_descriptor(peers_[0].door);
    if (fd < 0) return fail(ncclRemoteError, "rank 0 does not hand out the shared memory: %s", strerror(errno));
    if (!segment_.open(fd)) return fail(ncclSystemError, "cannot map the shared memory: %s", strerror(errno));
  }
  RankBlock& block = segment_.rank(rank_);
  block.pid = static_cast<int>(getpid());
  block.world_rank = origin_.world_rank;
  block.host = host_of(origin_);
  block.device = device_;
  return ncclSuccess;
}

ncclResult_t Communicator::check_devices() {
  for (size_t i = 0; i < peers_.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (peers_[i].host == peers_[j].host && strcmp(peers_[i].pci_id, peers_[j].pci_id) == 0)
        return fail(ncclInvalidUsage, "Duplicate GPU detected : rank %d and rank %d both on CUDA device %s",
                    peers_[j].rank, peers_[i].rank, peers_[i].pci_id);
  return ncclSuccess;
}

const Link& Communicator::link_to(int rank) const {
  return peer(rank).host == peer(rank_).host ? settings().inside : settings().between;
}

ncclResult_t Communicator::wait_host(const std::function<bool()>& done, bool whatever_failed) {
  RankBlock& block = segment_.rank(rank_);
  for (;;) {
    uint32_t bell = block.bell.load(std::memory_order_seq_cst);
    if (done()) return ncclSuccess;
    if (aborted()) return fail(ncclInternalError, "the communicator was aborted");
    if (uint32_t failed = segment_.header().failed.load(); failed != 0 && !whatever_failed)
      return fail(static_cast<ncclResult_t>(failed), "rank %d has ended or failed",
                  segment_.header().failed_rank.load());
    segment_.sleep(rank_, bell, now_ns() + kLookNs);
  }
}

ncclResult_t Communicator::gather() {
  Header& header = segment_.header();
  uint32_t generation = header.generation.load();
  if (header.gathered.fetch_add(1) + 1 == static_cast<uint32_t>(ranks_)) {
    header.gathered.store(0);
    header.generation.fetch_add(1);
    segment_.ring_all();
    return ncclSuccess;
  }
  return wait_host([&] { return header.generation.load() != generation; });
}

ncclResult_t Communicator::exchange(const void* mine, size_t bytes, std::vector<char>* all) {
  memcpy(segment_.rank(rank_).exchange, mine, bytes);
  NCCL_TRY(gather());
  all->resize(bytes * static_cast<size_t>(ranks_));
  for (int i = 0; i < ranks_; ++i)
    memcpy(all->data() + bytes * static_cast<size_t>(i), segment_.rank(i).exchange, bytes);
  return gather();  // nobody writes again before everybody has read
}

ncclResult_t Communicator::connect() {
  if (!progress_running_ && !service_.start_progress())
    return fail(ncclSystemError, "cannot start the progress thread: %s", strerror(errno));
  if (connected_) return ncclSuccess;
  Milestone& milestone = segment_.header().connected;
  auto all = static_cast<uint64_t>(ranks_);
  if (milestone.raise(0) == all) segment_.ring_all();
  NCCL_TRY(wait_host([&] { return milestone.count.load() >= all; }));
  connected_ = true;
  return ncclSuccess;
}

// A send needs its receiver to come as far as here too, and the other way round, once per pair.
ncclResult_t Communicator::connect_pairs(const std::vector<Work>& works) {
  if (works.empty()) return ncclSuccess;
  if (!progress_running_ && !service_.start_progress())
    return fail(ncclSystemError, "cannot start the progress thread: %s", strerror(errno));
  for (const Work& work : works) {
    bool sends = work.kind == Kind::kSend;
    Channel& channel = sends ? segment_.channel(rank_, work.root) : segment_.channel(work.root, rank_);
    if ((sends ? channel.sender_ready : channel.receiver_ready).exchange(1) == 0) segment_.ring(work.root);
  }
  for (const Work& work : works) {
    bool sends = work.kind == Kind::kSend;
    Channel& channel = sends ? segment_.channel(rank_, work.root) : segment_.channel(work.root, rank_);
    NCCL_TRY(wait_host([&] { return (sends ? channel.receiver_ready : channel.sender_ready).load() != 0; }));
  }
  return ncclSuccess;
}

ncclResult_t Communicator::share_id(int leader, uint64_t key, ncclUniqueId* id) {
  uint64_t& seen = invites_seen_[leader];
  RankBlock& block = segment_.rank(leader);
  if (leader == rank_) {
    NCCL_TRY(make_unique_id(id));
    Invite& invite = block.invites[++seen % kInvites];
    invite.key = key;
    invite.id = *id;
    invite.number.store(seen, std::memory_order_release);
    segment_.ring_all();
    return ncclSuccess;
  }
  // The leader may have had other meetings that this rank was not part of.
  return wait_host(
      [&] {
        for (const Invite& invite : block.invites) {
          uint64_t number = invite.number.load(std::memory_order_acquire);
          if (number <= seen || invite.key != key) continue;
          seen = number;
          *id = invite.id;
          return true;
        }
        return false;
      },
      true);
}

void Communicator::neighbour_gone(int direction) {
  int who = (rank_ + ranks_ + direction) % ranks_;
  if (segment_.rank(who).left.load() != 0 || aborted()) return;
  fail(ncclRemoteError, "rank %d (pid %d) has ended while the communicator is in use", who, peer(who).pid);
  segment_.mark_failed(ncclRemoteError, who);
}

ncclResult_t Communicator::async_error() const {
  ncclResult_t own = state();
  if (own != ncclSuccess || peers_.empty()) return own;
  return static_cast<ncclResult_t>(segment_.header().failed.load());
}

ncclResult_t Communicator::mismatch(const char* what) {
  segment_.mark_failed(ncclInvalidUsage, rank_);
  return fail(ncclInvalidUsage, "%s", what);
}

void Communicator::finalize() {
  if (progress_running_) progress_.drain();
  if (peers_.empty()) return;
  segment_.rank(rank_).left.store(1);
}

void Communicator::abort() {
  abort_.store(1);
  while (busy.load() != 0) usleep(1000);
  leave();
}

ncclResult_t Communicator::revoke() {
  revoked_.store(true);
  segment_.rank(rank_).revoked.store(1);
  segment_.ring(rank_);
  if (progress_running_) progress_.drain();
  return ncclSuccess;
}

void Communicator::leave() {
  MutexLock lock(mutex);
  if (left_) return;
  left_ = true;
  bool met = state() != ncclInProgress || !peers_.empty();
  if (met && segment_.fd() >= 0) {
    segment_.rank(rank_).left.store(1);
    segment_.ring(rank_);
  }
  progress_.stop();
  service_.stop();
  for (int* fd : {&ring_.next, &ring_.previous}) {
    if (*fd >= 0) close(*fd);
    *fd = -1;
  }
}

ncclComm_t add_communicator(std::shared_ptr<Communicator> communicator) {
  MutexLock lock(g_living_mutex);
  auto handle = reinterpret_cast<ncclComm_t>(communicator.get());
  living()[handle] = std::move(communicator);
  return handle;
}

std::shared_ptr<Communicator> find_communicator(ncclComm_t handle) {
  MutexLock lock(g_living_mutex);
  auto found = living().find(handle);
  return found == living().end() ? nullptr : found->second;
}

void remove_communicator(ncclComm_t handle) {
  std::shared_ptr<Communicator> last;  // dropped outside the lock: its destructor joins threads
  MutexLock lock(g_living_mutex);
  auto found = living().find(handle);
  if (found == living().end()) return;
  last = std::move(found->second);
  living().erase(found);
}

ncclResult_t find_ready(ncclComm_t handle, const char* call, std::shared_ptr<Communicator>* communicator) {
  if (handle == nullptr) return fail(ncclInvalidArgument, "%s : comm argument is NULL", call);
  *communicator = find_communicator(handle);
  if (*communicator == nullptr)
    return fail(ncclInvalidArgument, "%s : the communicator does not exist or was destroyed", call);
  if ((*communicator)->aborted()) return fail(ncclInvalidUsage, "%s : the communicator was aborted", call);
  ncclResult_t error = (*communicator)->async_error();
  if (error == ncclInProgress)
    return fail(ncclInvalidArgument,
                "%s : attempt to use the communicator before the previous operation returned "
                "ncclSuccess",
                call);
  if (error != ncclSuccess) return fail(error, "%s : the communicator has failed before", call);
  if ((*communicator)->finalized) return fail(ncclInvalidArgument, "%s : the communicator was finalized", call);
  return ncclSuccess;
}

}  // namespace simnode::nccl
