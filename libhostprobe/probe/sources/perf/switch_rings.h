// switch_rings.h: the kernel's perf buffers in which it notes when a thread of this process is put on a CPU and taken off it.
//
// Room 2 (probe/). The writer thread only, except for reading: the buffers are memory of the process, the descriptors are in the
// writer's own table. Needs no privilege: events of the own threads, without the kernel's part. Up to kMostCpus there is a buffer
// a CPU, and new threads inherit the events; above, where each thread would pay for each CPU, a buffer a thread.
// A forked child has neither buffers (the kernel leaves them out) nor events (inherit_thread); an exec removes them.
#pragma once

#include <cstdint>

#include "probe/arch/architecture.h"
#include "probe/runtime/own_threads.h"
#include "probe/sources/perf/perf_records.h"

namespace hostprobe::probe {

struct RingFailure {
  int error;         // errno; 0: none
  const char* text;  // what to do
  bool of_memory;    // a smaller buffer may do
};

struct RingSetting {
  bool overwritten;  // the newest records stay, and nobody has to read; else what finds a buffer full is lost
  bool per_thread;
  unsigned pages;  // of a buffer, a power of two; fewer where the limit of locked memory is near
};

// Who made a thread, as far as is known: 0 = not.
struct ThreadOrigin {
  std::uint32_t creator_tid;
  std::uint64_t created_ticks;
};

// That makes records of a thread's switches.
perf_event_attr switch_event();

// All zeros: closed.
class SwitchRings {
 public:
  static constexpr std::uint64_t kMostLooked = 1024;
  static constexpr unsigned kMostCpus = 16, kMostRings = 64, kMostEvents = 512;

  // For all threads that there are now. On failure nothing is left open.
  RingFailure open(const RingSetting& setting, ThreadOrigin (*origin_of)(std::uint32_t tid));
  void close();
  bool is_open() const { return rings_ != nullptr; }
  bool is_overwritten() const { return setting_.overwritten; }
  bool is_per_thread() const { return setting_.per_thread; }
  unsigned pages() const { return setting_.pages; }

  // Where each thread has a buffer. False: there is none for it.
  bool add_thread(std::uint32_t tid);
  bool has_thread(std::uint32_t tid) const;
  // Whether it inherited its events from a thread that has them; then it is known from now on.
  bool adopts(std::uint32_t tid, const ThreadOrigin& origin);

  // Ends the events of all threads, at once and for what they have inherited too. What is in the buffers stays there. Where each thread
  // has a buffer: of those that are `unwanted`, and what is in these is gone.
  void detach_all(bool (*unwanted)(std::uint32_t tid));
  // After that: of all threads but those that are `unwanted`. Calls on_none(tid) where one could not have any.
  template <class OnNone>
  void attach_again(bool (*unwanted)(std::uint32_t tid), OnNone on_none) {
    if (!is_per_thread())
      for_each_thread([&](int number) {
        const auto tid = static_cast<std::uint32_t>(number);
        if (!has_thread(tid) && !unwanted(tid) && !attach_one(tid)) on_none(tid);
      });
  }
  // No more threads fit.
  bool is_full() const { return attached_count_ == kMostEvents || fd_count_ == kMostEvents; }
  // False: it cannot have events now.
  bool attach_one(std::uint32_t tid);
  // Of threads that have ended: what was not read is gone.
  void remove_all_but(bool (*lives)(std::uint32_t tid));

  // Records that can be in them.
  std::uint64_t capacity() const;
  // Records that the kernel has written so far, since the first open().
  std::uint64_t written() const;
  // The fullest, 0 … 1; of overwritten ones 0.
  double fill() const;

  // Calls on_switch(tid, double) for each thread put on a CPU that the call before did not see, without taking it out. Of many only the
  // newest are looked at: each of these stands for so many.
  template <class OnSwitch>
  void look(OnSwitch on_switch) {
    for (unsigned i = 0; i < count_; ++i) {
      Ring& ring = rings_[i];
      if (ring.page == nullptr) continue;
      const std::uint64_t head = __atomic_load_n(&ring.page->data_head, __ATOMIC_ACQUIRE);
      const auto* live = reinterpret_cast<const std::uint64_t*>(&ring.page->data_head);
      if (setting_.overwritten) {
        const std::uint64_t fresh = ring.looked - head, most = kMostLooked * sizeof(PerfSwitchRecord);
        const std::uint64_t bytes = data_bytes(), some = bytes < most ? bytes : most;
        const std::uint64_t seen = fresh < some ? fresh : some;
        const double each = seen == 0 ? 1 : static_cast<double>(fresh) / static_cast<double>(seen);
        read_perf_backward(bytes_of(ring), head, head + seen, live, [&](const PerfSwitch& found) {
          if (found.what == kSwitchedIn) on_switch(found.tid, each);
        });
      } else {
        const std::uint64_t from = head - ring.looked < head - ring.done ? ring.looked : ring.done;
        const auto on_found = [&](const PerfSwitch& found) {
          if (found.what == kSwitchedIn) on_switch(found.tid, 1.0);
        };
        read_perf_forward(bytes_of(ring), from, head, on_found, [](const PerfDrops&) {});
      }
      ring.looked = head;
    }
  }

  // Calls on_switch(const PerfSwitch&) for everything that is new, ring after ring, on_drops(const PerfDrops&, since_raw_ns) where records found the
  // ring full since then, and behind each ring on_ring(bool whole): none that was not read before is missing, but for those.
  // Overwritten rings: the newest first.
  template <class OnSwitch, class OnDrops, class OnRing>
  void read(OnSwitch on_switch, OnDrops on_drops, OnRing on_ring) {
    for (unsigned i = 0; i < count_; ++i) {
      Ring& ring = rings_[i];
      if (ring.page == nullptr) continue;
      const std::uint64_t head = __atomic_load_n(&ring.page->data_head, __ATOMIC_ACQUIRE);
      const auto note_last = [&](const PerfSwitch& found) {
        ring.last_raw_ns = found.raw_ns;
        on_switch(found);
      };
      bool whole;
      if (setting_.overwritten) {
        whole = read_perf_backward(bytes_of(ring), head, ring.done,
                                   reinterpret_cast<const std::uint64_t*>(&ring.page->data_head), on_switch);
      } else {
        whole = read_perf_forward(bytes_of(ring), ring.done, head, note_last,
                                  [&](const PerfDrops& drops) { on_drops(drops, ring.last_raw_ns); });
        __atomic_store_n(&ring.page->data_tail, head, __ATOMIC_RELEASE);
      }
      ring.done = head;
      on_ring(whole);
    }
  }

 private:
  // Of one buffer. Pages of the setting have 4 KiB; the kernel's may be larger, and it gives whole ones.
  std::uint64_t data_bytes() const {
    const std::uint64_t bytes = setting_.pages * std::uint64_t{4096}, page = page_bytes();
    return bytes < page ? page : bytes;
  }

  struct Ring {
    perf_event_mmap_page* page;  // nullptr: free
    std::uint64_t done;          // read up to here
    std::uint64_t looked;        // looked at up to here
    std::uint64_t last_raw_ns;   // of the last switch that was read
    std::uint32_t tid;           // whose it is, where each thread has one
    int fd;
    int cpu;
  };
  struct Attached {
    std::uint32_t tid;
    std::uint64_t since_ticks;
  };

  RingFailure try_open(ThreadOrigin (*origin_of)(std::uint32_t tid));
  RingFailure open_cpu_rings();
  RingFailure attach_all(ThreadOrigin (*origin_of)(std::uint32_t tid));
  RingFailure attach(std::uint32_t tid);
  bool inherits(std::uint32_t tid, const ThreadOrigin& origin) const;
  RingFailure map(Ring& ring) const;
  void unmap(Ring& ring);
  int open_event(std::uint32_t tid, int cpu, bool inherited) const;
  PerfBytes bytes_of(const Ring& ring) const;
  std::uint64_t written(const Ring& ring) const;

  RingSetting setting_;
  Ring* rings_;  // memory of our own, one piece with what follows
  Attached* attached_;
  int* fds_;  // of events that write into another's buffer
  unsigned count_, attached_count_, fd_count_;
  std::uint64_t written_before_;  // by those that are closed
};

// How many CPUs there may be.
unsigned configured_cpus();

}  // namespace hostprobe::probe
