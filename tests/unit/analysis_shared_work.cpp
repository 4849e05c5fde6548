// Gains of remedies that leave the work as it is: analysis/causes/shared_work.cpp
#include "analysis/causes/shared_work.h"

#include <gtest/gtest.h>

namespace hostprobe::analysis {
namespace {

// Two ranks on one host of four CPUs, and one on another, in steps of 100 ms.
class SharedWork : public testing::Test {
 protected:
  SharedWork() {
    for (const char* host : {"h", "h", "i"}) {
      ProcessAnswer& process = run_.processes.emplace_back();
      process.trace_path = std::to_string(run_.processes.size());
      process.pid = static_cast<std::uint32_t>(run_.processes.size());
      process.host = host;
      process.cpus = 4;
      run_.step_members.push_back(process.trace_path);
    }
    run_.step_time.emplace();
    run_.step_time->length_ns = 100e6;
    run_.step_time->steps = 1;
    finding_.pid = 1;
    finding_.fix = Fix::kNumWorkers;
    finding_.gain_pct = finding_.gain_high_pct = 70;
    finding_.gain_low_pct = 40;
  }
  void work(double ms, double beside_ms, double elsewhere_ms) {
    run_.step_time->cpu_ns = {1e6 * ms, 1e6 * beside_ms, 1e6 * elsewhere_ms};
    bound_by_work(finding_, run_);
  }

  RunAnswer run_;
  Finding finding_;
};

TEST_F(SharedWork, TakesAsLongAsAllCpusOfTheHostNeedForIt) {
  work(100, 80, 1000);
  EXPECT_NEAR(*finding_.gain_pct, 100 - 180.0 / 4, 1e-9);
  EXPECT_NEAR(*finding_.gain_high_pct, 55, 1e-9);
  EXPECT_NEAR(*finding_.gain_low_pct, 40, 1e-9);
  EXPECT_EQ(finding_.gain_limit, GainLimit::kHost);
}

TEST_F(SharedWork, BoundsNoGainThatIsSmaller) {
  work(60, 40, 0);
  EXPECT_EQ(*finding_.gain_pct, 70);
  EXPECT_EQ(finding_.gain_limit, GainLimit::kNone);
}

TEST_F(SharedWork, MayHaveTheCpusOfAWiderMask) {
  finding_.fix = Fix::kWidenMask;
  finding_.evidence.add(MaskEvidence{.mask_cpus = 1, .mask_all_cpus = 2});
  work(100, 0, 0);
  EXPECT_NEAR(*finding_.gain_pct, 50, 1e-9);
}

TEST_F(SharedWork, GoesAwayWithOtherFixes) {
  finding_.fix = Fix::kGc;
  work(400, 400, 0);
  EXPECT_EQ(*finding_.gain_pct, 70);
}

TEST_F(SharedWork, IsNoBoundWhereNobodyCountedIt) {
  run_.processes[0].cpus = 0;
  work(400, 400, 0);
  EXPECT_EQ(*finding_.gain_pct, 70);
  run_.processes[0].cpus = 4;
  bound_by_work(finding_, RunAnswer{});
  EXPECT_EQ(*finding_.gain_pct, 70);
  work(4000, 0, 0);
  EXPECT_EQ(*finding_.gain_pct, 0) << "more than there can be";
}

}  // namespace
}  // namespace hostprobe::analysis
