// perf_records.h: the records in a perf buffer of the kernel.
//
// Room 2 (probe/). On the writer thread, or whoever ends the trace. Memory that is shared with the kernel is read as bad input is: no
// length is believed.
#pragma once

#include <linux/perf_event.h>
#include <string.h>

#include <cstdint>

#include "format/switches.h"

namespace hostprobe::probe {

// `position`s run on for ever; the buffer holds the last `bytes` of them, a power of two.
struct PerfBytes {
  const unsigned char* data;
  std::uint64_t bytes;
};

struct PerfSwitch {
  std::uint64_t raw_ns;
  std::uint32_t tid;
  std::uint16_t cpu;
  std::uint16_t what;  // SwitchWhat
};

// With these three words at its end: PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU.
struct PerfSwitchRecord {
  perf_event_header head;
  std::uint32_t pid, tid;
  std::uint64_t time;
  std::uint32_t cpu, reserved;
};
static_assert(sizeof(PerfSwitchRecord) == 32);

// Where records had found the buffer full, before the next one that fits.
struct PerfLostRecord {
  perf_event_header head;
  std::uint64_t id, lost;
  std::uint32_t pid, tid;
  std::uint64_t time;
  std::uint32_t cpu, reserved;
};
static_assert(sizeof(PerfLostRecord) == 48);

struct PerfDrops {
  std::uint64_t count, raw_ns;
};

enum class PerfFound { kSwitch, kLost, kOther, kNone };  // none: what stands there is no record

// Copies what stands at `position`, of which `left` bytes may be read.
inline void copy_perf_bytes(const PerfBytes& from, std::uint64_t position, void* to, std::uint64_t count) {
  const std::uint64_t at = position & (from.bytes - 1), first = from.bytes - at < count ? from.bytes - at : count;
  memcpy(to, from.data + at, first);
  memcpy(static_cast<char*>(to) + first, from.data, count - first);
}

// `drops` is of a kLost.
inline PerfFound perf_record_at(const PerfBytes& from, std::uint64_t position, std::uint64_t left, PerfSwitch& found,
                                std::uint64_t& length, PerfDrops& drops) {
  PerfSwitchRecord record;
  if (left < sizeof record.head) return PerfFound::kNone;
  copy_perf_bytes(from, position, &record.head, sizeof record.head);
  length = record.head.size;
  if (length < sizeof record.head || length % 8 != 0 || length > left) return PerfFound::kNone;
  if (record.head.type == PERF_RECORD_LOST && length == sizeof(PerfLostRecord)) {
    PerfLostRecord told;
    copy_perf_bytes(from, position, &told, sizeof told);
    drops = {told.lost, told.time};
    return PerfFound::kLost;
  }
  if (record.head.type != PERF_RECORD_SWITCH || length != sizeof record) return PerfFound::kOther;
  copy_perf_bytes(from, position, &record, sizeof record);
  const bool out = (record.head.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
  const bool runnable = (record.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
  const SwitchWhat what = !out ? kSwitchedIn : runnable ? kSwitchedOutRunnable : kSwitchedOut;
  found = {record.time, record.tid, static_cast<std::uint16_t>(record.cpu), what};
  return PerfFound::kSwitch;
}

// The oldest first, from `tail` to `head`. False: what stands between them makes no sense from some point on. Calls on_drops(const
// PerfDrops&) where the kernel says that records before this place had found the buffer full.
template <class OnSwitch, class OnDrops>
bool read_perf_forward(const PerfBytes& from, std::uint64_t tail, std::uint64_t head, OnSwitch on_switch,
                       OnDrops on_drops) {
  if (head - tail > from.bytes) return false;
  PerfSwitch found;
  PerfDrops drops;
  for (std::uint64_t length = 0; tail != head; tail += length) {
    const PerfFound kind = perf_record_at(from, tail, head - tail, found, length, drops);
    if (kind == PerfFound::kNone) return false;
    if (kind == PerfFound::kLost) on_drops(drops);
    if (kind == PerfFound::kSwitch) on_switch(found);
  }
  return true;
}

// Of a buffer that the kernel writes backwards and over its oldest records: the newest first, from `head` up to `end`, where the
// reading before began. `*live_head` moves on meanwhile. False: older ones were there and are gone.
template <class OnSwitch>
bool read_perf_backward(const PerfBytes& from, std::uint64_t head, std::uint64_t end, const std::uint64_t* live_head,
                        OnSwitch on_switch) {
  const std::uint64_t written = end - head, there = written < from.bytes ? written : from.bytes;
  PerfSwitch found;
  PerfDrops drops;
  for (std::uint64_t at = head, length = 0; at - head < there; at += length) {
    const PerfFound kind = perf_record_at(from, at, there - (at - head), found, length, drops);
    // Only now: it may have been written over while it was copied.
    if (at + length - __atomic_load_n(live_head, __ATOMIC_ACQUIRE) > from.bytes) return false;
    if (kind == PerfFound::kNone) return false;
    if (kind == PerfFound::kSwitch) on_switch(found);
  }
  return written <= from.bytes;
}

}  // namespace hostprobe::probe
