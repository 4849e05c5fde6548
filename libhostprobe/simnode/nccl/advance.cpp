// One poll round of the progress thread: data moves between user buffers and shared memory, one chunk per stage and round,
// and the virtual clock moves with it. For chunk c of a collective on rank r:
//
//   published(r, c) = max(published(r, c-1), all ranks began, slot free) + round(r) + bytes / bandwidth(r)
//   reduced(r, c)   = max(reduced(r, c-1), published(all ranks, c) + latency)
//   consumed(r, c)  = max(consumed(r, c-1), reduced(all ranks, c) + latency)        and the slot is free again at the last
//
// A round costs kRoundNs, plus what a proxy_delay fault adds on that rank. So one slow rank delays all, chunk by chunk,
// because nobody can reduce what it has not published: nothing here ever adds a fault to anybody else's time.
#include "communicator.h"
#include "progress.h"
#include "reduce.h"

#include "node/clock.h"

#include <sys/mman.h>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace simnode::nccl {

namespace {

constexpr int64_t kRoundNs = 1000;
constexpr int64_t kStartNs = 2000;  // the kernel's own start and the first flag

struct Costs {
  double bytes_per_ns;
  int64_t latency_ns, round_ns;
};

// At a modelled moment, so that it does not matter when the progress thread gets there.
Costs costs_of(const Communicator& communicator, const Link& link, int64_t at_ns) {
  int rank = communicator.world_rank();
  Costs costs{link.bytes_per_ns, link.latency_ns, kRoundNs};
  if (settings().faults.none()) return costs;
  costs.bytes_per_ns /= fault_factor(FaultKind::kSlowLink, rank, at_ns);
  costs.latency_ns += std::llround(fault_amount(FaultKind::kLinkLatency, rank, at_ns) * 1000);
  costs.round_ns += std::llround(fault_amount(FaultKind::kProxyDelay, rank, at_ns) * 1000);
  return costs;
}

// Steps that a message takes through a tree of the ranks.
int depth_of(int ranks) {
  int depth = 0;
  while ((1 << depth) < ranks) ++depth;
  return depth;
}

// What one collective of one run is, in the terms of the three stages.
class Collective {
 public:
  Collective(Communicator& communicator, Run& run)
      : communicator_(communicator),
        run_(run),
        work_(run.plan->collectives[run.collective]),
        at_(run.at),
        segment_(communicator.segment()),
        ranks_(communicator.ranks()),
        rank_(communicator.rank()) {
    size_t element = bytes_of(work_.type);
    bytes_ = work_.count * element;
    size_t whole = segment_.header().chunk_bytes;
    // Collectives whose messages differ per rank share a chunk between the ranks.
    piece_ = scattered() ? std::max(whole / static_cast<size_t>(ranks_) / 64 * 64, size_t{64}) : whole;
    if (scattered() && piece_ * static_cast<size_t>(ranks_) > whole)
      piece_ = whole / static_cast<size_t>(ranks_) / 8 * 8;
    at_.chunks = (bytes_ + piece_ - 1) / piece_;
  }

  bool advance(int64_t* until_ns) {
    if (!at_.announced) announce();
    if (!at_.matched && !match()) return false;
    if (segment_.header().failed.load() == ncclInvalidUsage) return end();
    bool moved = consume();
    if (has_reduction()) moved |= reduce_chunk();
    moved |= publish(until_ns);
    if (at_.consumed == at_.chunks) end();
    return moved;
  }

 private:
  bool scattered() const { return work_.kind == Kind::kAllGather || work_.kind == Kind::kReduceScatter; }
  bool has_reduction() const { return work_.kind == Kind::kAllReduce || work_.kind == Kind::kReduce; }
  uint64_t all(uint64_t uses) const { return static_cast<uint64_t>(ranks_) * uses; }
  ChunkSlot& slot(uint64_t i) const { return segment_.header().chunks[(at_.base + i) % kSlots]; }
  uint64_t uses(uint64_t i) const { return (at_.base + i) / kSlots + 1; }
  size_t offset(uint64_t i) const { return i * piece_; }
  size_t length(uint64_t i) const { return std::min(piece_, bytes_ - offset(i)); }

  Costs costs(int64_t at_ns) const {
    Costs costs = costs_of(communicator_, communicator_.ring_link(), at_ns);
    costs.latency_ns *= depth_of(ranks_);
    return costs;
  }

  void announce() {
    uint64_t number = communicator_.collectives_done;
    Signature& mine = segment_.rank(rank_).signatures[number % 2];
    bool has_root = work_.kind == Kind::kReduce || work_.kind == Kind::kBroadcast;
    mine = {static_cast<uint32_t>(work_.kind), static_cast<uint32_t>(work_.type), static_cast<uint32_t>(work_.op),
            has_root ? static_cast<uint32_t>(work_.root) : 0, work_.count};
    at_.announced = true;
    at_.base = communicator_.chunks_done;
    Milestone& begun = segment_.header().begun[number % 2];
    int64_t start_ns = std::max(run_.start_ns, run_.end_ns);
    if (begun.raise(start_ns + kStartNs) == all(number / 2 + 1)) segment_.ring_all();
  }

  // Whether all ranks have begun; then whether they all mean the same.
  bool match() {
    uint64_t number = communicator_.collectives_done;
    const Milestone& begun = segment_.header().begun[number % 2];
    if (begun.count.load(std::memory_order_acquire) < all(number / 2 + 1)) return false;
    at_.matched = true;
    int64_t start_ns = begun.latest_ns.load(std::memory_order_relaxed);
    at_.published_ns = at_.reduced_ns = at_.consumed_ns = start_ns;
    const Signature& mine = segment_.rank(rank_).signatures[number % 2];
    for (int i = 0; i < ranks_; ++i) {
      const Signature& other = segment_.rank(i).signatures[number % 2];
      if (memcmp(&mine, &other, sizeof mine) != 0) complain(mine, other, i);
    }
    return true;
  }

  void complain(const Signature& mine, const Signature& other, int rank) {
    if (segment_.header().failed.load() != 0) return;
    char text[300];
    auto say_one = [](char* to, size_t bytes, const Signature& one) {
      snprintf(to, bytes, "%s(count %llu, datatype %u, op %u, root %u)", collective_name(Kind{one.kind}),
               static_cast<unsigned long long>(one.count), one.type, one.op, one.root);
    };
    char here[100], there[100];
    say_one(here, sizeof here, mine);
    say_one(there, sizeof there, other);
    snprintf(text, sizeof text, "mismatched collectives: rank %d calls %s, rank %d calls %s", rank_, here, rank, there);
    communicator_.mismatch(text);
  }

  bool end() {
    run_.end_ns = std::max({run_.end_ns, at_.consumed_ns, at_.published_ns});
    communicator_.chunks_done = at_.base + at_.chunks;
    ++communicator_.collectives_done;
    ++run_.collective;
    run_.at = {};
    return true;
  }

  // Bytes that go over this rank's link for the chunk.
  double traffic(size_t length) const {
    auto bytes = static_cast<double>(length);
    double others = ranks_ - 1;
    if (work_.kind == Kind::kAllReduce) return 2 * bytes * others / ranks_;
    return scattered() ? bytes * others : bytes;
  }

  bool publish(int64_t* until_ns) {
    uint64_t i = at_.published;
    if (i == at_.chunks) return false;
    ChunkSlot& to = slot(i);
    int64_t start_ns = at_.published_ns;
    if (uint64_t before = uses(i) - 1; before > 0) {
      if (to.consumed.count.load(std::memory_order_acquire) < all(before)) return false;
      start_ns = std::max(start_ns, to.consumed.latest_ns.load(std::memory_order_relaxed));
    }
    if (start_ns > now_ns()) {
      *until_ns = start_ns;
      return false;
    }
    Costs cost = costs(start_ns);
    put(i);
    at_.published_ns = start_ns + cost.round_ns + std::llround(traffic(length(i)) / cost.bytes_per_ns);
    ++at_.published;
    if (to.published.raise(at_.published_ns + cost.latency_ns) == all(uses(i))) segment_.ring_all();
    return true;
  }

  // Only as many raises as there are ranks show that every rank has published; a rank that is a lap ahead cannot exist,
  // because a slot is published again only after all have consumed it.
  bool reduce_chunk() {
    uint64_t i = at_.reduced;
    if (i == at_.chunks || slot(i).published.count.load(std::memory_order_acquire) < all(uses(i))) return false;
    at_.reduced_ns = std::max(at_.reduced_ns, slot(i).published.latest_ns.load(std::memory_order_relaxed));
    combine_share(i);
    ++at_.reduced;
    if (slot(i).reduced.raise(at_.reduced_ns + costs(at_.reduced_ns).latency_ns) == all(uses(i))) segment_.ring_all();
    return true;
  }

  bool consume() {
    uint64_t i = at_.consumed;
    if (i == at_.chunks) return false;
    const Milestone& ready = has_reduction() ? slot(i).reduced : slot(i).published;
    uint64_t expected = has_reduction() ? reductions(i) : all(uses(i));
    if (ready.count.load(std::memory_order_acquire) < expected) return false;
    at_.consumed_ns = std::max(at_.consumed_ns, ready.latest_ns.load(std::memory_order_relaxed));
    take(i);
    // Collectives without a reduction raise that count too, so that it tells the same for every kind.
    if (!has_reduction()) slot(i).reduced.raise(at_.consumed_ns);
    ++at_.consumed;
    if (slot(i).consumed.raise(at_.consumed_ns) == all(uses(i))) segment_.ring_all();
    return true;
  }

  uint64_t reductions(uint64_t i) const { return all(uses(i)); }

  // This rank's input for chunk i into its slot.
  void put(uint64_t i) {
    char* to = segment_.input(rank_, at_.base + i);
    auto* from = static_cast<const char*>(work_.send);
    switch (work_.kind) {
      case Kind::kBroadcast:
        if (rank_ == work_.root) memcpy(to, from + offset(i), length(i));
        break;
      case Kind::kReduceScatter:
        for (int to_rank = 0; to_rank < ranks_; ++to_rank)
          copy_in(to + static_cast<size_t>(to_rank) * piece_, from + static_cast<size_t>(to_rank) * bytes_ + offset(i),
                  i);
        break;
      default:
        copy_in(to, from + offset(i), i);
    }
  }

  void copy_in(char* to, const char* from, uint64_t i) {
    if (work_.op != Op::kPreMulSum) {
      memcpy(to, from, length(i));
      return;
    }
    const void* scalar = work_.scalar != nullptr ? work_.scalar : &work_.scalar_value;
    pre_multiply(work_.type, to, from, scalar, length(i) / bytes_of(work_.type));
  }

  // Each rank reduces its own share of the chunk, so the work is spread and every rank gets the same bits.
  void combine_share(uint64_t i) {
    size_t element = bytes_of(work_.type);
    size_t count = length(i) / element, each = (count + static_cast<size_t>(ranks_) - 1) / static_cast<size_t>(ranks_);
    size_t first = std::min(count, each * static_cast<size_t>(rank_)), last = std::min(count, first + each);
    combine(segment_.result(at_.base + i) + first * element, i, first * element, last - first);
  }

  void combine(void* to, uint64_t i, size_t inside, size_t count) {
    if (count == 0) return;
    std::vector<const void*> inputs(static_cast<size_t>(ranks_));
    for (int from = 0; from < ranks_; ++from)
      inputs[static_cast<size_t>(from)] = segment_.input(from, at_.base + i) + inside;
    reduce(work_.op, work_.type, to, inputs.data(), ranks_, count);
  }

  // The output of chunk i out of the slots.
  void take(uint64_t i) {
    auto* to = static_cast<char*>(work_.recv);
    switch (work_.kind) {
      case Kind::kReduce:
        if (rank_ != work_.root) return;
        [[fallthrough]];
      case Kind::kAllReduce:
        memcpy(to + offset(i), segment_.result(at_.base + i), length(i));
        return;
      case Kind::kBroadcast:
        if (rank_ != work_.root || work_.send != work_.recv)
          memcpy(to + offset(i), segment_.input(work_.root, at_.base + i), length(i));
        return;
      case Kind::kAllGather:
        for (int from = 0; from < ranks_; ++from)
          memcpy(to + static_cast<size_t>(from) * bytes_ + offset(i), segment_.input(from, at_.base + i), length(i));
        return;
      case Kind::kReduceScatter:
        combine(to + offset(i), i, static_cast<size_t>(rank_) * piece_, length(i) / bytes_of(work_.type));
        return;
      default:
        return;
    }
  }

  Communicator& communicator_;
  Run& run_;
  const Work& work_;
  CollectiveState& at_;
  const Segment& segment_;
  const int ranks_, rank_;
  size_t bytes_ = 0, piece_ = 0;
};

// Sends and receives of one run, all under way at once; between two ranks and in one direction they keep their order.
class Messages {
 public:
  Messages(Communicator& communicator, Run& run)
      : communicator_(communicator),
        run_(run),
        segment_(communicator.segment()),
        rank_(communicator.rank()),
        chunk_bytes_(segment_.header().p2p_chunk_bytes),
        busy_to_(static_cast<size_t>(communicator.ranks())),
        busy_from_(static_cast<size_t>(communicator.ranks())) {
    if (!run.messages.empty()) return;
    int64_t start_ns = std::max(run.start_ns, run.end_ns) + kStartNs;
    run.sent_ns = run.received_ns = start_ns;
    for (const Work& work : run.plan->point_to_point)
      run.messages.push_back({(bytes(work) + chunk_bytes_ - 1) / chunk_bytes_, 0, start_ns});
  }

  bool advance(int64_t* until_ns) {
    bool moved = false;
    for (size_t i = 0; i < run_.messages.size(); ++i) {
      const Work& work = run_.plan->point_to_point[i];
      PointToPointState& state = run_.messages[i];
      bool sends = work.kind == Kind::kSend;
      char& busy = (sends ? busy_to_ : busy_from_)[static_cast<size_t>(work.root)];
      if (busy != 0 || state.done == state.chunks) continue;
      moved |= sends ? send(work, state, until_ns) : receive(work, state);
      busy = state.done != state.chunks;
      run_.end_ns = std::max(run_.end_ns, state.done_ns);
    }
    return moved;
  }

 private:
  static size_t bytes(const Work& work) { return work.count * bytes_of(work.type); }
  size_t offset(uint64_t i) const { return i * chunk_bytes_; }
  size_t length(const Work& work, uint64_t i) const { return std::min(chunk_bytes_, bytes(work) - offset(i)); }

  bool send(const Work& work, PointToPointState& state, int64_t* until_ns) {
    Channel& channel = segment_.channel(rank_, work.root);
    uint64_t number = channel.written.load(std::memory_order_relaxed);
    int64_t start_ns = run_.sent_ns;
    if (number >= kSlots) {
      if (channel.read.load(std::memory_order_acquire) + kSlots <= number) return false;
      start_ns = std::max(start_ns, channel.read_ns[number % kSlots].load(std::memory_order_relaxed));
    }
    if (start_ns > now_ns()) {
      if (*until_ns < 0 || start_ns < *until_ns) *until_ns = start_ns;
      return false;
    }
    Costs cost = costs_of(communicator_, communicator_.link_to(work.root), start_ns);
    size_t count = length(work, state.done);
    memcpy(segment_.message(rank_, work.root, number), static_cast<const char*>(work.send) + offset(state.done), count);
    run_.sent_ns = start_ns + cost.round_ns + std::llround(static_cast<double>(count) / cost.bytes_per_ns);
    channel.message_bytes[number % kSlots] = bytes(work);
    channel.message_type[number % kSlots] = work.type;
    channel.written_ns[number % kSlots].store(run_.sent_ns + cost.latency_ns, std::memory_order_relaxed);
    channel.written.store(number + 1, std::memory_order_release);
    state.done_ns = run_.sent_ns;
    ++state.done;
    segment_.ring(work.root);
    return true;
  }

  bool receive(const Work& work, PointToPointState& state) {
    Channel& channel = segment_.channel(work.root, rank_);
    uint64_t number = channel.read.load(std::memory_order_relaxed);
    if (channel.written.load(std::memory_order_acquire) <= number) return false;
    if (state.done == 0 && !matches(work, channel, number)) return false;
    int64_t written_ns = channel.written_ns[number % kSlots].load(std::memory_order_relaxed);
    Costs cost = costs_of(communicator_, communicator_.link_to(work.root), std::max(written_ns, run_.received_ns));
    size_t count = length(work, state.done);
    memcpy(static_cast<char*>(work.recv) + offset(state.done), segment_.message(work.root, rank_, number), count);
    // It cannot have arrived before it was sent, nor faster than this side's own link takes it.
    int64_t own_ns = run_.received_ns + std::llround(static_cast<double>(count) / cost.bytes_per_ns);
    int64_t slower_ns = cost.latency_ns - communicator_.link_to(work.root).latency_ns;
    int64_t arrived_ns = written_ns + slower_ns;
    run_.received_ns = std::max(arrived_ns, own_ns) + cost.round_ns;
    channel.read_ns[number % kSlots].store(run_.received_ns, std::memory_order_relaxed);
    channel.read.store(number + 1, std::memory_order_release);
    state.done_ns = run_.received_ns;
    ++state.done;
    segment_.ring(work.root);
    return true;
  }

  bool matches(const Work& work, const Channel& channel, uint64_t number) {
    uint64_t sent = channel.message_bytes[number % kSlots];
    uint32_t type = channel.message_type[number % kSlots];
    if (sent == bytes(work) && type == static_cast<uint32_t>(work.type)) return true;
    char text[200];
    snprintf(text, sizeof text,
             "mismatched point to point: rank %d sends %llu bytes of datatype %u, rank %d receives %zu "
             "bytes of datatype %d",
             work.root, static_cast<unsigned long long>(sent), type, rank_, bytes(work), work.type);
    communicator_.mismatch(text);
    return false;
  }

  Communicator& communicator_;
  Run& run_;
  const Segment& segment_;
  const int rank_;
  const size_t chunk_bytes_;
  std::vector<char> busy_to_, busy_from_;
};

// A kernel that is stopped ends when it learns of it.
void give_up(Run& run) {
  run.end_ns = std::max(run.start_ns, now_ns());
  run.collective = run.plan->collectives.size();
  run.messages.assign(run.plan->point_to_point.size(), {});
}

// Whether every page of the buffer is there. A device would report an illegal address; a simulated one must not crash.
bool readable(const void* buffer, size_t bytes) {
  if (buffer == nullptr) return false;
  constexpr size_t kPage = 4096, kStride = 4096;
  unsigned char there[kStride];
  uintptr_t first = reinterpret_cast<uintptr_t>(buffer) / kPage * kPage;
  uintptr_t last = (reinterpret_cast<uintptr_t>(buffer) + bytes + kPage - 1) / kPage * kPage;
  for (uintptr_t at = first; at < last; at += kPage * kStride)
    if (mincore(reinterpret_cast<void*>(at), std::min<size_t>(last - at, kPage * kStride), there) != 0) return false;
  return true;
}

bool buffers_exist(const Work& work, int rank, int ranks) {
  size_t bytes = work.count * bytes_of(work.type);
  size_t all = bytes * static_cast<size_t>(ranks);
  bool root = rank == work.root;
  switch (work.kind) {
    case Kind::kAllReduce:
      return readable(work.send, bytes) && readable(work.recv, bytes);
    case Kind::kReduce:
      return readable(work.send, bytes) && (!root || readable(work.recv, bytes));
    case Kind::kReduceScatter:
      return readable(work.send, all) && readable(work.recv, bytes);
    case Kind::kAllGather:
      return readable(work.send, bytes) && readable(work.recv, all);
    case Kind::kBroadcast:
      return (!root || readable(work.send, bytes)) && readable(work.recv, bytes);
    case Kind::kSend:
      return readable(work.send, bytes);
    case Kind::kRecv:
      return readable(work.recv, bytes);
  }
  return false;
}

bool touches_only_memory(Communicator& communicator, const Run& run) {
  for (const auto* works : {&run.plan->collectives, &run.plan->point_to_point})
    for (const Work& work : *works)
      if (!buffers_exist(work, communicator.rank(), communicator.ranks()) ||
          (work.scalar != nullptr && !readable(work.scalar, bytes_of(work.type))))
        return false;
  return true;
}

}  // namespace

bool finished(const Run& run) {
  if (run.collective < run.plan->collectives.size()) return false;
  if (run.messages.size() < run.plan->point_to_point.size()) return false;
  for (const PointToPointState& message : run.messages)
    if (message.done != message.chunks) return false;
  return true;
}

bool waits_for_polls(const Run& run) {
  if (run.collective == run.plan->collectives.size()) return true;
  return !run.at.matched || run.at.published < run.at.chunks;
}

bool advance(Communicator& communicator, Run& run, int64_t* until_ns) {
  bool fresh = run.collective == 0 && !run.at.announced && run.messages.empty();
  if (fresh && !touches_only_memory(communicator, run)) {
    run.result = CUDA_ERROR_ILLEGAL_ADDRESS;
    give_up(run);
    return true;
  }
  bool broken = communicator.segment().header().failed.load() == ncclInvalidUsage;
  if (communicator.stopped() || broken) {
    give_up(run);
    return true;
  }
  if (run.collective < run.plan->collectives.size()) return Collective(communicator, run).advance(until_ns);
  return Messages(communicator, run).advance(until_ns);
}

}  // namespace simnode::nccl
