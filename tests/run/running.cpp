// running: what programs do while they run, by samples: code of a library and of their own, in each mode that samples, and where nothing is to be
// sampled.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

using nlohmann::json;

// Of the main thread of the process that was not forked.
json main_thread(const json& answers) {
  for (const json& process : answers.at("processes"))
    for (const json& thread : process.at("threads"))
      if (process.at("kind") != "worker" && thread.at("role") == "main") return thread;
  return json::object();
}

std::uint64_t samples_of(const json& thread, const std::string& function, const std::string& library) {
  for (const json& row : thread.value("running", json::array()))
    if (row.at("library") == library && row.at("function").is_string() &&
        row.at("function").get<std::string>().starts_with(function))
      return row.at("samples").get<std::uint64_t>();
  return 0;
}

Pair burns(const char* ms, const Environment& probe) {
  return Pair({.program = "burns", .args = {ms}, .probe = probe});
}

class RunningIn : public testing::TestWithParam<const char*> {};

// Of three quarters, with 44 samples expected: fewer than half of them, or none elsewhere, is no chance.
TEST_P(RunningIn, ALibraryAndAProgramIsToldByFunctionAndLibrary) {
  Pair pair = burns("2200", {{"HOSTPROBE_MODE", GetParam()}, {"HOSTPROBE_BUDGET", "0"}});
  expect_same(pair);
  const json answers = report(pair.run());
  const json main = main_thread(answers);
  const std::uint64_t library = samples_of(main, "burn_in_library", "libburner.so");
  const std::uint64_t own = samples_of(main, "(anonymous namespace)::burn_in_program", "burns");
  ASSERT_GE(library + own, 22u) << main.dump(1);
  EXPECT_GT(library, own) << main.dump(1);
  EXPECT_GT(own, 0u) << main.dump(1);
  const double told_ms = main.at("running_samples").at("code_ms").get<double>();
  EXPECT_LE(told_ms, 1.05 * main.at("cpu_ms").get<double>()) << "not more than there was";
  EXPECT_GE(told_ms, 0.7 * main.at("cpu_ms").get<double>());
  for (const json& process : answers.at("processes"))
    for (const json& thread : process.at("threads"))
      if (thread.at("role") == "other") {
        EXPECT_FALSE(thread.contains("running")) << "it only waits";
      }
}
INSTANTIATE_TEST_SUITE_P(Modes, RunningIn, testing::Values("trace", "flight"),
                         [](const auto& each) { return std::string(each.param); });

TEST(Running, IsNotSampledWhereNobodyWantsIt) {
  for (const Environment& probe : {Environment{{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_SAMPLES", "0"}},
                                   Environment{{"HOSTPROBE_MODE", "monitor"}}}) {
    Pair pair = burns("800", probe);
    expect_same(pair);
    EXPECT_FALSE(main_thread(report(pair.run())).contains("running"));
  }
}

TEST(Running, OfAForkedChildIsTheChilds) {
  Pair pair(
      {.program = "burns", .args = {"300", "1000"}, .probe = {{"HOSTPROBE_MODE", "trace"}, {"HOSTPROBE_BUDGET", "0"}}});
  expect_same(pair);
  std::uint64_t children = 0;
  const json answers = report(pair.run());
  for (const json& process : answers.at("processes"))
    if (process.at("kind") == "worker")
      for (const json& thread : process.at("threads"))
        children += samples_of(thread, "burn_in_library", "libburner.so");
  EXPECT_GT(children, 0u) << "a second of CPU time";
  EXPECT_LT(children, 40u) << "and nothing of its parent's";
}

// A filter that every process of a container has: some end those that ask for what it does not allow.
TEST(Running, IsNotAskedOfPerfUnderAFilterOfSystemCalls) {
  Pair pair({.program = "burns", .args = {"800"}, .probe = {{"HOSTPROBE_MODE", "trace"}}, .before_exec = [] {
               static sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
                                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                                              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
               static sock_fprog program = {sizeof filter / sizeof *filter, filter};
               prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
               prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
             }});
  expect_same(pair);
  EXPECT_FALSE(main_thread(report(pair.run())).contains("running"));
}

}  // namespace
}  // namespace hostprobe::test
