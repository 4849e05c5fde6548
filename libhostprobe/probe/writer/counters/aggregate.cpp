// aggregate.cpp: see aggregate.h.
#include "probe/writer/counters/aggregate.h"

#include <string.h>

#include <atomic>

#include "format/nccl_type.h"
#include "probe/record/chunk.h"
#include "probe/record/hook_row.h"
#include "probe/record/short_waits.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/counters/site_rows.h"
#include "probe/writer/file/record_block.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMostHooks = 1024;

// What a hook is, and which words of its records say what, from its labels. 5: none does.
struct Shape {
  HookRole role;  // kUnsaid: not worked out yet
  std::uint8_t site, waker, communicator, count, call, nodes, kernels, object;
};
HP_KEPT_BY_CHILDREN Shape g_shapes[kMostHooks];

// Ends of launches, for the gap to the next one of the thread. Two threads that share a place lose gaps, nothing else.
struct LastLaunch {
  std::uint64_t thread_start_ticks, next_sequence, end_ticks;
};
constexpr unsigned kLastLaunches = 256;
HP_OF_RECORDING LastLaunch g_last[kLastLaunches];

LastLaunch& last_launch_of(const ChunkHead* chunk) {
  return g_last[(chunk->thread_start_ticks ^ chunk->tid) % kLastLaunches];
}

HP_OF_RECORDING std::uint64_t g_slots = 0;
HP_OF_RECORDING std::uint64_t g_lost = 0;

std::uint8_t word_named(const HookRow& row, const char* name) {
  std::size_t length = strlen(name);
  for (std::uint8_t i = 0; i < 5; ++i) {
    const char* label = row.labels[i];
    if (strncmp(label, name, length) == 0 && (label[length] == 0 || label[length] == ':')) return i;
  }
  return 5;
}

// The word by which calls of that role have counters of their own; "": none.
const char* object_of(HookRole role) {
  switch (role) {
    case HookRole::kRange:
    case HookRole::kMark:
      return "name";
    case HookRole::kQueueSample:
      return "empty";
    case HookRole::kGarbage:
      return "generation";
    default:
      return "";
  }
}

const Shape& shape_of(std::uint16_t hook) {
  Shape& shape = g_shapes[(hook - 1u) % kMostHooks];
  if (shape.role != HookRole::kUnsaid) return shape;
  const HookRow& row = *hook_of_number(hook)->row;
  const auto role = static_cast<HookRole>(row.role);
  const char* object = object_of(role);
  shape = {role,
           word_named(row, "site"),
           word_named(row, "waker"),
           word_named(row, "comm"),
           word_named(row, "count"),
           word_named(row, "call"),
           word_named(row, "nodes"),
           word_named(row, "kernels"),
           *object == 0 ? std::uint8_t{5} : word_named(row, object)};
  return shape;
}

std::uint64_t word(const Record& record, std::uint8_t index) {
  const std::uint64_t words[6] = {record.a, record.b, record.c, record.d, record.e, 0};
  return words[index];
}

std::uint64_t bytes_of(const Record& record, const Shape& shape, std::uint64_t call) {
  return word(record, shape.count) * bytes_of_nccl_type(call >> 48 & 0xff);
}

// What a record adds, and to which counters.
struct Addition {
  std::uint64_t key = 0, object = 0, amount = 0;
  std::uint64_t time = 0, wake = 0;
  std::uint32_t waker_tid = 0;
  bool has_wake = false;
};

void add_wake(Addition& add, const Record& record, std::uint64_t post) {
  if (post == 0 || (record.flags & kRecordTimedOut) != 0) return;
  std::uint64_t posted = post_ticks(post, record.end_ticks);
  if (posted < record.begin_ticks || posted > record.end_ticks) return;
  add.has_wake = true;
  add.wake = record.end_ticks - posted;
  add.waker_tid = post_tid(post);
}

void add_gap(Addition& add, const ChunkHead* chunk, const Record& record) {
  LastLaunch& last = last_launch_of(chunk);
  if (last.end_ticks != 0 && record.begin_ticks >= last.end_ticks) {
    add.has_wake = true;
    add.wake = record.begin_ticks - last.end_ticks;
  }
  last.end_ticks = record.end_ticks;
}

// What a capture took gives the GPU nothing: the gap goes on to the next launch that does.
void add_launch(Addition& add, const ChunkHead* chunk, const Record& record, const Shape& shape) {
  add.object = record.flags & (kRecordFailed | kRecordCaptured);
  if ((record.flags & kRecordCaptured) == 0) add_gap(add, chunk, record);
  if (add.object != 0 || shape.kernels == 5) return;
  add.amount = word(record, shape.kernels);
  if (word(record, shape.nodes) == 0) add.object = kKernelsUnknown;
}

// Its counters are one for each communicator, not for each site.
std::uint64_t add_operation(Addition& add, const Record& record, const Shape& shape) {
  const std::uint64_t call = word(record, shape.call);
  add.object = word(record, shape.communicator);
  add.amount = bytes_of(record, shape, call);
  return static_cast<std::uint32_t>(call) == 0 ? kSiteNotTaken : 0;
}

// Gives the site.
std::uint64_t add_call(Addition& add, const ChunkHead* chunk, const Record& record, const Shape& shape) {
  switch (shape.role) {
    case HookRole::kLaunch:
    case HookRole::kLaunchMany:
    case HookRole::kLaunchGraph:
    case HookRole::kLaunchCallback:
      add_launch(add, chunk, record, shape);
      return 0;
    case HookRole::kCollective:
    case HookRole::kMessage:
      return add_operation(add, record, shape);
    default:
      break;
  }
  if (shape.object != 5) {
    add.object = word(record, shape.object);
  } else if (shape.waker != 5) {
    add_wake(add, record, word(record, shape.waker));
    add.amount = (record.flags & kRecordTimedOut) != 0;
  }
  return shape.role == HookRole::kRange || shape.role == HookRole::kMark ? 0 : word(record, shape.site);
}

Addition addition_of(const ChunkHead* chunk, const Record& record) {
  const Shape& shape = shape_of(record.hook);
  Addition add;
  if ((record.flags & kRecordAfterSkipped) != 0) last_launch_of(chunk).end_ticks = 0;
  add.time = record.end_ticks - record.begin_ticks;
  const std::uint64_t site = add_call(add, chunk, record, shape);
  if ((record.flags & kRecordFile) != 0) add.object = kRecordFile;
  add.key = pack_place(site, record.hook);
  return add;
}

void remember(Undo::Before& before, const Spans& spans, std::uint64_t ticks) {
  std::uint32_t bucket = short_bucket(ticks);
  before = {spans.ticks, spans.max_ticks, bucket, 0, spans.buckets[bucket]};
}

void add_to(Spans& spans, std::uint64_t ticks) {
  spans.ticks += ticks;
  if (ticks > spans.max_ticks) spans.max_ticks = ticks;
  ++spans.buckets[short_bucket(ticks)];
}

// A kill stops this between any two stores; their order is what Undo relies on.
void commit(ChunkHead* chunk, std::uint32_t slot, SiteCounter& counters, const Addition& add) {
  Undo& undo = g_segment.header->undo;
  undo.chunk = chunk_index(chunk);
  undo.aggregated = slot;
  undo.waker_tid = counters.waker_tid;
  undo.amount = counters.amount;
  remember(undo.time, counters.time, add.time);
  remember(undo.wake, counters.wake, add.has_wake ? add.wake : 0);
  std::atomic_ref(undo.sum).store(static_cast<std::uint32_t>(&counters - g_segment.counters) + 1,
                                  std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  add_to(counters.time, add.time);
  counters.amount += add.amount;
  if (add.has_wake) {
    add_to(counters.wake, add.wake);
    if (add.waker_tid != 0) counters.waker_tid = add.waker_tid;
  }
  std::atomic_ref(chunk->aggregated).store(slot + 1, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  std::atomic_ref(undo.sum).store(0u, std::memory_order_release);
}

void aggregate_slot(ChunkHead* chunk, std::uint32_t slot) {
  const Record& record = reinterpret_cast<const Record*>(chunk + 1)[slot];
  SiteCounter* counters = nullptr;
  if (is_complete(record, chunk->lap)) {
    Addition add = addition_of(chunk, record);
    counters = site_row(*chunk, add.key, add.object);
    if (counters != nullptr) commit(chunk, slot, *counters, add);
  }
  ++g_slots;
  if (counters != nullptr) return;
  ++g_lost;
  count_loss(is_complete(record, chunk->lap) ? kLostNoSums : kLostJumpedOut);
  std::atomic_ref(chunk->aggregated).store(slot + 1, std::memory_order_release);
}

// A gap over records that are missing is none, nor one to a launch of another thread that had the place.
void check_sequence(const ChunkHead* chunk, std::uint32_t end) {
  LastLaunch& last = last_launch_of(chunk);
  bool goes_on = last.thread_start_ticks == chunk->thread_start_ticks &&
                 last.next_sequence == chunk->first_sequence + chunk->aggregated;
  if (!goes_on) last = {chunk->thread_start_ticks, 0, 0};
  last.next_sequence = chunk->first_sequence + end;
}

}  // namespace

void aggregate(ChunkHead* chunk, std::uint32_t end) {
  if (end <= chunk->aggregated) return;
  std::atomic_ref serial(g_segment.header->aggregate_serial);
  serial.fetch_add(1, std::memory_order_acq_rel);
  check_sequence(chunk, end);
  for (std::uint32_t slot = chunk->aggregated; slot < end; ++slot) aggregate_slot(chunk, slot);
  serial.fetch_add(1, std::memory_order_release);
}

void aggregate_only_later_records() {
  std::atomic_ref serial(g_segment.header->aggregate_serial);
  serial.fetch_add(1, std::memory_order_acq_rel);
  std::uint32_t ready = std::atomic_ref(g_segment.header->chunks_ready).load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < ready; ++i) {
    ChunkHead* chunk = chunk_at(i);
    if (chunk->aggregated < chunk->drained)
      std::atomic_ref(chunk->aggregated).store(chunk->drained, std::memory_order_release);
  }
  serial.fetch_add(1, std::memory_order_release);
}

std::uint64_t aggregated_slots() { return g_slots; }
std::uint64_t aggregated_lost() { return g_lost; }

std::uint64_t write_sums(BlockKind kind) { return write_all_rows(kind); }

}  // namespace hostprobe::probe
