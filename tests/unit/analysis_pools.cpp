// CPUs that are short because a library's pool spins on them, or because somebody narrowed the mask: analysis/measures/pools.cpp, masks.cpp,
// analysis/causes/pool_supply.cpp, mask_supply.cpp
#include "analysis/measures/pools.h"

#include <gtest/gtest.h>

#include "analysis/findings/run_findings.h"
#include "analysis/run_answer.h"
#include "format/samples.h"
#include "support/trace_file.h"

namespace hostprobe::analysis {
namespace {

using test::TraceFile;

constexpr std::uint64_t kRuntime = 0x300000, kMath = 0x400000, kPin = 0x500000;

TEST(Spinning, IsToldByTheRuntimeOrByTheFunction) {
  EXPECT_TRUE(spins_in("", "libgomp-a34b3233.so.1")) << "without symbols";
  EXPECT_TRUE(spins_in("__kmp_hyper_barrier_release", "libiomp5.so"));
  EXPECT_TRUE(spins_in("__kmp_wait_template", "libscience.so")) << "linked into it";
  EXPECT_TRUE(spins_in("blas_thread_server", "libopenblas.so.0"));
  EXPECT_TRUE(spins_in("sched_yield", "libc.so.6"));
  EXPECT_TRUE(spins_in("pthread_spin_lock", "libc.so.6"));
  EXPECT_FALSE(spins_in("dgemm_kernel_ZEN", "libopenblas.so.0"));
  EXPECT_FALSE(spins_in("", "libtorch_cpu.so"));
  EXPECT_FALSE(spins_in("memcpy", "libc.so.6"));
}

SampledShare with_switching(const SpinCount& own, const Switching& switching) {
  SpinCount count = own;
  count.add_kernel(100, switching);
  return count.share();
}

TEST(Spinning, IsWhatSwitchesTakeInTheKernelToo) {
  const SpinCount own{.samples = 40, .spinning = 10};
  EXPECT_NEAR(with_switching(own, {1e6, 0.5}).part, 0.125 + 0.01, 1e-9) << "the kernel did something else";
  EXPECT_NEAR(with_switching(own, {25'000, 0.5}).part, 0.125 + 0.4, 1e-9) << "ten of 25 microseconds";
  EXPECT_EQ(with_switching(own, {}).part, 0.25);
  EXPECT_EQ(with_switching(own, {10'000, 1}).part, 0.25) << "a count that says nothing of its own code";
}

TEST(Spinning, InTheKernelIsCertainHoweverFewSamplesOfCodeThereAre) {
  const SampledShare none = with_switching({}, {20'000, 0.4});
  EXPECT_NEAR(none.low, 0.4, 1e-9);
  EXPECT_NEAR(none.high, 1, 1e-9);
  EXPECT_NEAR(with_switching({.samples = 3, .spinning = 3}, {20'000, 0.4}).low, 0.4, 1e-9);
  EXPECT_NEAR(with_switching({.samples = 3, .spinning = 3}, {}).low, 0, 1e-9) << "three samples say nothing";
  EXPECT_GT(with_switching({.samples = 30, .spinning = 30}, {20'000, 0.4}).low, 0.9);
}

TEST(Spinning, OfSeveralThreadsIsWeighedByTheirCpuTime) {
  SpinCount busy, idle;
  busy.add_kernel(90, {20'000, 0.4});
  idle.add_kernel(10, {20'000, 0});
  busy.add(idle);
  EXPECT_NEAR(busy.share().low, 0.36, 1e-9);
}

// A process of one second, whose main thread wants a CPU for 0.6 s and has it for 0.3 s.
class Supply : public testing::Test {
 protected:
  struct Look {
    unsigned threads = 7;   // beside the main one
    unsigned spinning = 8;  // of ten samples of each
    const char* library = "/x/libgomp.so.1";
    std::uint64_t cpus = 2;
    double ready_ms = 600;  // without a CPU, each
    double quota = 0;       // 0: none was used up
    std::uint32_t pid = 1000;
    double main_ready_ms = 300;
  };
  void process(const Look& look) {
    TraceFile file;
    file.header.pid = look.pid;
    file.header.cpus = look.cpus;
    file.header.process_cpu_ns = (300 + look.threads * 200) * 1'000'000ull;
    file.module(kRuntime, kRuntime + 0x1000, look.library);
    file.module(kMath, kMath + 0x1000, "/x/libmath.so");
    file.thread(thread(look.pid, 300, look.main_ready_ms));
    std::string samples;
    for (std::uint32_t i = 0; i < look.threads; ++i) {
      ThreadEntry one = thread(2000 + i, 200, look.ready_ms);
      one.start_routine = kRuntime + 8;
      file.thread(one);
      for (unsigned n = 0; n < 10; ++n)
        samples += test::bytes_of(SampleRow{test::at_us(1000 + 10'000 * n), one.tid, kSampleCode, 0,
                                            (n < look.spinning ? kRuntime : kMath) + 16, 0, 20'000});
    }
    file.block(kBlockSamples, samples);
    if (look.quota > 0) {
      EventRow row{test::at_us(990'000), kEventThrottled, 900, 9, 250'000'000, {}};
      test::set_text(row.text, std::to_string(look.quota) + " /x/group");
      file.block(kBlockEvents, test::bytes_of(row));
    }
    file.write(folder_.file("h-" + std::to_string(look.pid) + "-1.hptrace"));
  }
  static ThreadEntry thread(std::uint32_t tid, double cpu_ms, double ready_ms) {
    ThreadEntry entry = test::thread_entry(tid, "worker");
    entry.cpu_ns = static_cast<std::uint64_t>(1e6 * cpu_ms);
    entry.run_delay_ns = static_cast<std::uint64_t>(1e6 * ready_ms);
    return entry;
  }
  std::vector<Finding> findings() { return find_causes(analyse_run(folder_.path().string(), {})); }
  Finding finding(Cause cause) {
    for (const Finding& one : findings())
      if (one.cause == cause) return one;
    ADD_FAILURE() << "no finding of " << cause_id(cause);
    return {};
  }
  test::TestFolder folder_;
};

TEST_F(Supply, OfAPoolThatSpinsOnTooFewCpusIsHelpedByFewerThreads) {
  process({});
  const Finding found = finding(Cause::kCpuContention);
  EXPECT_EQ(found.fix, Fix::kFewerThreads);
  const PoolEvidence& pool = found.evidence.of<PoolEvidence>();
  EXPECT_EQ(pool.pool_library, "libgomp.so.1");
  EXPECT_EQ(pool.pool_threads, 8u) << "with the main thread, which works with them";
  EXPECT_NEAR(pool.pool_at_a_time, 8, 0.01);
  EXPECT_EQ(pool.pool_cpus, 2);
  EXPECT_EQ(pool.pool_fits, 2u);
  EXPECT_NEAR(pool.pool_spins_pct, 80, 0.01);
  EXPECT_EQ(pool.pool_cpus_by, "mask");
}

TEST_F(Supply, OfAPoolUnderAQuotaIsHelpedByFewerThreadsAndNotByALargerQuota) {
  process({.quota = 1});
  const Finding found = finding(Cause::kCpuThrottle);
  EXPECT_EQ(found.fix, Fix::kFewerThreads);
  EXPECT_EQ(found.evidence.of<PoolEvidence>().pool_fits, 1u);
  EXPECT_EQ(found.evidence.of<PoolEvidence>().pool_cpus_by, "quota");
}

TEST_F(Supply, OfAPoolThatWorksIsNotHelpedByFewerThreads) {
  process({.spinning = 0});
  EXPECT_EQ(finding(Cause::kCpuContention).fix, Fix::kMoreCpus);
}

TEST_F(Supply, OfAPoolThatFitsItsCpusIsNotToldOfIt) {
  process({.threads = 1});
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.find<PoolEvidence>(), nullptr);
}

TEST_F(Supply, OfAPoolWhoseThreadsHaveTheirCpusIsNotToldOfIt) {
  process({.cpus = 4, .ready_ms = 1});
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.find<PoolEvidence>(), nullptr);
}

TEST_F(Supply, OfThreadsThatPythonStartedIsNotToldOfAPool) {
  process({.library = "/usr/bin/python3.11"});
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.find<PoolEvidence>(), nullptr);
}

TEST_F(Supply, OfPoolsThatFitAloneIsThatOfAllOnTheHost) {
  for (const std::uint32_t pid : {1000, 1001}) process({.threads = 1, .pid = pid});
  const PoolEvidence pool = finding(Cause::kCpuContention).evidence.of<PoolEvidence>();
  EXPECT_EQ(pool.pool_processes, 2u);
  EXPECT_EQ(pool.pool_threads, 4u);
  EXPECT_EQ(pool.pool_fits, 1u);
}

// A process of one second on a machine of four CPUs: its main thread may use so many of them.
class Narrowed : public Supply {
 protected:
  std::uint64_t start_cpus_ = 4, machine_cpus_ = 0;
  double idle_cpus_ = 0;  // 0: not known
  void narrow(std::uint64_t may_use, double job_cpu_ms, bool set_here = true) {
    TraceFile file;
    file.header.pid = 1000;
    file.header.cpus = start_cpus_;
    file.header.machine_cpus = machine_cpus_;
    file.header.idle_ns = static_cast<std::uint64_t>(1e9 * idle_cpus_);
    file.header.idle_of_ns = idle_cpus_ > 0 ? 1'000'000'000 : 0;
    file.header.process_cpu_ns = static_cast<std::uint64_t>(1e6 * job_cpu_ms);
    file.hooks({{.name = "sched_setaffinity",
                 .family = Family::kThread,
                 .labels = {"thread:i", "mask:hex", "site:code", "cpus", "result:i"},
                 .blocking = false}});
    file.module(kPin, kPin + 0x1000, "/x/libpinme.so");
    ThreadEntry main = thread(1000, 500, 400);
    main.cpus = static_cast<std::uint32_t>(may_use);
    file.thread(main);
    test::StringArea names;
    const std::uint32_t load = names.add("load_codec (train.py:12)"),
                        ctypes = names.add("CDLL.__init__ (__init__.py:376)");
    const std::uint32_t outermost = names.add("main (train.py:40)");
    file.strings(names);
    file.stack(0, {}, {ctypes, load, outermost});
    if (set_here)
      file.calls(1000, 0,
                 {{.hook = 1, .begin_us = 9'000, .end_us = 9'001, .b = 4, .c = kPin + 16, .d = may_use, .stack = 1}});
    file.write(folder_.file("h-1000-1.hptrace"));
  }
};

TEST_F(Narrowed, ThreadsAreHelpedByAWiderMask) {
  narrow(1, 900);
  const Finding found = finding(Cause::kCpuContention);
  EXPECT_EQ(found.fix, Fix::kWidenMask);
  const MaskEvidence& mask = found.evidence.of<MaskEvidence>();
  EXPECT_EQ(mask.mask_cpus, 1u);
  EXPECT_EQ(mask.mask_all_cpus, 4u);
  EXPECT_EQ(mask.mask_set_by, "libpinme.so");
  EXPECT_EQ(mask.mask_set_from, "load_codec (train.py:12)");
  EXPECT_NEAR(mask.mask_set_at_ms.value_or(0), 9, 0.01);
  EXPECT_EQ(mask.mask_list, "CPU 2");
}

TEST_F(Narrowed, ThreadsAreToldOfAlsoWhereNobodyIsKnownToHaveNarrowedThem) {
  narrow(1, 900, false);
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.of<MaskEvidence>().mask_cpus, 1u);
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.of<MaskEvidence>().mask_set_by, "");
}

TEST_F(Narrowed, ThreadsAreToldOfTheMachinesOtherCpusWhereTheseAreIdle) {
  for (const double idle : {0.9, 0.1}) {
    start_cpus_ = 1;
    machine_cpus_ = 2;
    idle_cpus_ = idle;
    narrow(1, 900, false);
    const MaskEvidence mask = finding(Cause::kCpuContention).evidence.of<MaskEvidence>();
    EXPECT_EQ(mask.mask_all_cpus, idle > 0.5 ? 2u : 0u);
    EXPECT_NEAR(mask.mask_idle_cpus.value_or(0), idle > 0.5 ? 0.9 : 0, 1e-6);
  }
}

TEST_F(Narrowed, ThreadsAreNotToldOfWhereTheyMayUseAllOrTheJobUsesTheOthers) {
  narrow(4, 900);
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.find<MaskEvidence>(), nullptr);
  narrow(1, 3900);
  EXPECT_EQ(finding(Cause::kCpuContention).evidence.find<MaskEvidence>(), nullptr);
}

}  // namespace
}  // namespace hostprobe::analysis
