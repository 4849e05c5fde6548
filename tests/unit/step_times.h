// step_times.h: a job of simulated ranks, and where the time of its steps went.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "simulated_ranks.h"

namespace hostprobe::analysis {

class StepTimes : public SimulatedRanks {
 protected:
  // In µs a step, of the mean rank; of all ranks where none is named.
  double lost_us(Cause cause, int rank = -1) const {
    double ns = 0;
    for (const LostTime& lost : time_->lost)
      if (lost.cause == cause && (rank < 0 || static_cast<int>(lost.member) == rank)) ns += lost.ns;
    return 1e-3 * ns / static_cast<double>(time_->steps);
  }
  // In µs a step.
  double gain_us(Cause cause) const {
    const auto found = time_->gains.find(cause);
    return found == time_->gains.end() ? 0 : 1e-3 * found->second.ns / static_cast<double>(time_->steps);
  }
  void expect_whole() const {
    double ns = 0;
    for (const LostTime& lost : time_->lost) {
      ns += lost.ns;
      EXPECT_LE(lost.site_ns, lost.ns + 1) << cause_id(lost.cause);
      EXPECT_NEAR(std::accumulate(lost.step_ns.begin(), lost.step_ns.end(), 0.0), lost.ns, 1) << cause_id(lost.cause);
    }
    EXPECT_NEAR(ns, time_->length_ns, 1e-6 * time_->length_ns);
    expect_no_more_than_the_kernel_counted();
    expect_pieces_apart();
  }
  // On each rank, and so on all of them.
  void expect_no_more_than_the_kernel_counted() const {
    for (const SimulatedRank& one : ranks_) {
      double without_cpu_ns = 0, pieces_ms = 0;
      for (const LostTime& lost : time_->lost) {
        if (lost.cause != Cause::kCpuContention || static_cast<int>(lost.member) != one.rank) continue;
        without_cpu_ns += lost.ns;
        for (const LostPiece& piece : lost.longest) pieces_ms = std::max(pieces_ms, piece.ms);
      }
      constexpr double kRounded = 10;  // a nanosecond of each piece
      EXPECT_LE(without_cpu_ns, 1000 * (one.ready_us + one.progress_ready_us) + kRounded) << "rank " << one.rank;
      EXPECT_LE(pieces_ms, 1e-3 * one.ready_us + 1e-6) << "rank " << one.rank;
    }
  }
  // Of one process and thread, or of a process as a whole.
  void expect_pieces_apart() const {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<LostPiece>> pieces;
    for (const LostTime& lost : time_->lost)
      for (const LostPiece& piece : lost.longest) pieces[{lost.member, piece.tid}].push_back(piece);
    for (auto& [thread, own] : pieces) {
      std::sort(own.begin(), own.end(), [](const LostPiece& l, const LostPiece& r) { return l.at_ms < r.at_ms; });
      for (std::size_t i = 1; i < own.size(); ++i)
        EXPECT_GE(own[i].at_ms, own[i - 1].at_ms + own[i - 1].ms - 1e-6)
            << "member " << thread.first << ", thread " << thread.second << ": one piece is named twice";
    }
  }
  std::size_t named_pieces(Cause cause) const {
    std::size_t count = 0;
    for (const LostTime& lost : time_->lost)
      if (lost.cause == cause) count += lost.longest.size();
    return count;
  }
  template <typename Plant>
  void steps(std::uint64_t count, Plant plant) {
    for (std::uint64_t i = 0; i < count; ++i) {
      step(i, [&] {
        plant();
        for (SimulatedRank& one : ranks_)
          for (int kernel = 0; kernel < 40; ++kernel) one.compute(20);
        all_reduce(30);
        synchronise();
      });
    }
    ask();
    ASSERT_TRUE(time_);
    expect_whole();
  }
};

}  // namespace hostprobe::analysis
