// See segment.h.
#include "segment.h"

#include "node/clock.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>

namespace simnode::nccl {

namespace {

constexpr uint32_t kMagic = 0x734e4301;

size_t page_rounded(size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

struct Layout {
  size_t ranks, channels, inputs, results, messages, end;
};

Layout layout_of(int ranks, size_t chunk_bytes, size_t p2p_chunk_bytes) {
  auto n = static_cast<size_t>(ranks);
  Layout at;
  at.ranks = page_rounded(sizeof(Header));
  at.channels = page_rounded(at.ranks + n * sizeof(RankBlock));
  at.inputs = page_rounded(at.channels + n * n * sizeof(Channel));
  at.results = at.inputs + n * kSlots * chunk_bytes;
  at.messages = at.results + kSlots * chunk_bytes;
  at.end = page_rounded(at.messages + n * n * kSlots * p2p_chunk_bytes);
  return at;
}

Layout layout_of(const Header& header) { return layout_of(header.ranks, header.chunk_bytes, header.p2p_chunk_bytes); }

// The caller's errno is not NCCL's to change.
long call_futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* until) {
  int saved = errno;
  long result = syscall(SYS_futex, word, operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
  errno = saved;
  return result;
}

}  // namespace

void shared_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t until_ns) {
  timespec until{static_cast<time_t>(until_ns / 1000000000), static_cast<long>(until_ns % 1000000000)};
  call_futex(&word, FUTEX_WAIT_BITSET, expected, until_ns < 0 ? nullptr : &until);
}

void shared_wake(std::atomic<uint32_t>& word) { call_futex(&word, FUTEX_WAKE, INT_MAX, nullptr); }

Segment::~Segment() {
  if (base_ != nullptr) munmap(base_, bytes_);
  if (fd_ >= 0) close(fd_);
}

bool Segment::map() {
  void* mapped = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_, 0);
  if (mapped == MAP_FAILED) return false;
  base_ = static_cast<char*>(mapped);
  return true;
}

bool Segment::create(int ranks, size_t chunk_bytes, size_t p2p_chunk_bytes) {
  fd_ = memfd_create("nccl-shm", MFD_CLOEXEC);
  if (fd_ < 0) return false;
  bytes_ = layout_of(ranks, chunk_bytes, p2p_chunk_bytes).end;
  if (ftruncate(fd_, static_cast<off_t>(bytes_)) != 0 || !map()) return false;
  Header& made = header();
  made.magic = kMagic;
  made.ranks = ranks;
  made.chunk_bytes = chunk_bytes;
  made.p2p_chunk_bytes = p2p_chunk_bytes;
  made.failed_rank.store(-1, std::memory_order_relaxed);
  return true;
}

bool Segment::open(int fd) {
  fd_ = fd;
  off_t end = lseek(fd_, 0, SEEK_END);
  if (end < static_cast<off_t>(sizeof(Header))) {
    errno = EINVAL;
    return false;
  }
  bytes_ = static_cast<size_t>(end);
  if (!map()) return false;
  if (header().magic == kMagic && layout_of(header()).end == bytes_) return true;
  errno = EPROTO;
  return false;
}

RankBlock& Segment::rank(int rank) const {
  return reinterpret_cast<RankBlock*>(base_ + layout_of(header()).ranks)[rank];
}

Channel& Segment::channel(int from, int to) const {
  return reinterpret_cast<Channel*>(base_ + layout_of(header()).channels)[from * header().ranks + to];
}

char* Segment::input(int rank, uint64_t chunk) const {
  return base_ + layout_of(header()).inputs +
         (static_cast<size_t>(rank) * kSlots + chunk % kSlots) * header().chunk_bytes;
}

char* Segment::result(uint64_t chunk) const {
  return base_ + layout_of(header()).results + chunk % kSlots * header().chunk_bytes;
}

char* Segment::message(int from, int to, uint64_t chunk) const {
  auto pair = static_cast<size_t>(from * header().ranks + to);
  return base_ + layout_of(header()).messages + (pair * kSlots + chunk % kSlots) * header().p2p_chunk_bytes;
}

void Segment::ring(int to) const {
  RankBlock& block = rank(to);
  block.bell.fetch_add(1, std::memory_order_seq_cst);
  if (block.sleeping.load(std::memory_order_seq_cst) != 0) shared_wake(block.bell);
}

void Segment::ring_all() const {
  for (int i = 0; i < header().ranks; ++i) ring(i);
}

void Segment::sleep(int own, uint32_t seen, int64_t until_ns) const {
  RankBlock& block = rank(own);
  block.sleeping.fetch_add(1, std::memory_order_seq_cst);
  if (block.bell.load(std::memory_order_seq_cst) == seen) shared_wait(block.bell, seen, until_ns);
  block.sleeping.fetch_sub(1, std::memory_order_seq_cst);
}

void Segment::mark_failed(ncclResult_t why, int rank) const {
  uint32_t none = 0;
  if (!header().failed.compare_exchange_strong(none, why, std::memory_order_acq_rel)) return;
  header().failed_rank.store(rank, std::memory_order_relaxed);
  shared_wake(header().generation);
  ring_all();
}

}  // namespace simnode::nccl
