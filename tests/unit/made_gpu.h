// made_gpu.h: what a process gives its GPU to do, call by call, and when that really runs: for tests of what is made of the calls.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "model/gpu_work.h"

namespace hostprobe::test {

// Times in µs. A call takes 2 µs and tells the GPU at its end.
struct MadeGpu {
  struct Truth {
    double begin_us = 0, end_us = 0;
  };

  analysis::GpuWork work;
  std::vector<Truth> truth;  // by op
  double host_us = 0;        // the thread's
  double start_us = 6;       // from the end of a call to the begin of its work in an empty stream
  double empty_event_ns() const {
    return 1000 * (start_us - 3);
  }                        // as is measured: an event is there earlier than a kernel begins
  double pause_us = 0;     // between the end of an op and the begin of the one behind it
  double return_us = 5;    // from the end of the last work to the return of the wait for it
  bool is_timing = false;  // an event stands behind each op

  std::uint32_t stream(std::uint64_t handle = 7) {
    work.streams.push_back({handle, 0, 0, false, {}});
    tails_.push_back(0);
    drained_.push_back(kNever);
    return static_cast<std::uint32_t>(work.streams.size() - 1);
  }
  std::uint32_t kind(std::uint64_t what, std::uint64_t grid = 1) {
    return add_kind({analysis::GpuOpType::kKernel, false, what, grid, 1, 0, 0});
  }
  std::uint32_t collective_kind() { return add_kind({analysis::GpuOpType::kKernel, true, 1, 1, 1, 0, 0}); }
  std::uint32_t copy_kind(std::uint64_t bytes) {
    return add_kind({analysis::GpuOpType::kCopy, false, 1, 0, 0, bytes, 0});
  }
  std::uint32_t add_kind(const analysis::GpuOpKind& kind) {
    if (work.names.empty()) work.names = {"", "k"};
    work.kinds.push_back(kind);
    work.kinds.back().name = 1;
    return static_cast<std::uint32_t>(work.kinds.size() - 1);
  }

  // `until_us`: others are there then.
  std::uint32_t launch(std::uint32_t stream, std::uint32_t kind, double us, double until_us = 0) {
    analysis::GpuOp op = call(work.kinds[kind].type, stream);
    op.kind = kind;
    op.collective = work.kinds[kind].collective;
    Truth is;
    is.begin_us = std::max(host_us + start_us, tails_[stream] + pause_us);
    is.end_us = std::max(is.begin_us, until_us) + us;
    if (is_timing) op.timed_ns = 1000 * is.end_us, ++work.timed;
    return put(op, is);
  }
  std::uint32_t launch_behind(std::uint32_t stream, std::uint32_t kind, double us, std::uint32_t other) {
    tails_[stream] = std::max(tails_[stream], truth[other].end_us);
    const std::uint32_t number = launch(stream, kind, us);
    work.ops[number].other = other;
    return number;
  }
  std::uint32_t mark(std::uint32_t stream) { return place(analysis::GpuOpType::kMark, stream, analysis::kNoOp); }
  void join(std::uint32_t stream, std::uint32_t mark) {
    tails_[stream] = std::max(tails_[stream], truth[mark].end_us);
    place(analysis::GpuOpType::kJoin, stream, mark);
  }
  // As part `number` of a communicator of two.
  std::uint32_t meet(std::uint32_t stream, std::uint32_t kind, std::uint32_t number, double us, double until_us,
                     bool arrives = true, bool waits = true, std::uint64_t between = 0) {
    const auto first = static_cast<std::uint32_t>(work.parts.size());
    work.parts.push_back({99, between, number, 2, arrives, waits, kind});
    const std::uint32_t op = launch(stream, kind, us, until_us);
    work.ops[op].first_part = first;
    work.ops[op].parts = 1;
    return op;
  }
  // For all that the stream has.
  void wait(std::uint32_t stream, double late_us = 0) {
    const double begin_us = host_us;
    host_us = std::max(host_us + 1, tails_[stream] + return_us) + late_us;
    work.syncs.push_back({1000 * begin_us, 1000 * host_us, work.streams[stream].ops.back()});
    drained_[stream] = 1000 * host_us;
  }
  double end_us() const {
    double end_us = 0;
    for (const Truth& one : truth) end_us = std::max(end_us, one.end_us);
    return end_us;
  }

 private:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  analysis::GpuOp call(analysis::GpuOpType type, std::uint32_t stream) {
    analysis::GpuOp op;
    op.type = type;
    op.stream = stream;
    op.tid = 100;
    op.begin_ns = 1000 * host_us;
    host_us += 2;
    op.end_ns = op.told_ns = 1000 * host_us;
    op.drained_ns = drained_[stream];
    drained_[stream] = kNever;
    return op;
  }
  std::uint32_t place(analysis::GpuOpType type, std::uint32_t stream, std::uint32_t other) {
    analysis::GpuOp op = call(type, stream);
    op.other = other;
    const double at_us = std::max(host_us, tails_[stream]);
    return put(op, {at_us, at_us});
  }
  std::uint32_t put(const analysis::GpuOp& op, const Truth& is) {
    const auto number = static_cast<std::uint32_t>(work.ops.size());
    work.streams[op.stream].ops.push_back(number);
    work.ops.push_back(op);
    truth.push_back(is);
    tails_[op.stream] = is.end_us;
    return number;
  }

  std::vector<double> tails_, drained_;  // by stream
};

}  // namespace hostprobe::test
