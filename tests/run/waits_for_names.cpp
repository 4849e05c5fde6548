// waits_for_names: what was waited for has a name, a file's path or a peer's address, unless nobody is to know it.
#include <gtest/gtest.h>

#include "answers.h"
#include "run_probed.h"

namespace hostprobe::test {
namespace {

// Waits of a hundredth of the default may carry a stack then, so short ones have names as well.
Victim victim(const char* redact) {
  return {.program = "waits_for_names", .probe = {{"HOSTPROBE_STACK_US", "80"}, {"HOSTPROBE_REDACT", redact}}};
}

std::vector<std::string> names_of(const Dump& calls, const std::string& function, long long tid) {
  std::vector<std::string> names;
  for (const Call& call : calls.of(function, tid)) names.push_back(call.text("name"));
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST(Waits, OnADescriptorSayWhatItStandsForAtThatMoment) {
  const Pair pair(victim("0"));
  expect_same(pair);
  const Dump calls = dump(pair.run());
  const long long main = pair.probed.outcome.pid;
  std::vector<std::string> told;
  for (const char* key : {"pipe", "next_pipe", "tcp", "unix", "event"}) told.push_back(joined(pair.probed.told(key)));
  EXPECT_EQ(names_of(calls, "read", main), told);
  EXPECT_NE(told[0], told[1]);
  EXPECT_EQ(names_of(calls, "accept", main), std::vector{joined(pair.probed.told("accept"))});
  EXPECT_EQ(names_of(calls, "poll", main), (std::vector{joined(pair.probed.told("poll")), std::string()}));
}

// Of a socket it is not known which number its other end has.
TEST(Waits, ForAPipeSayWhoWrote) {
  const Pair pair(victim("0"));
  expect_same(pair);
  const std::vector<Call> reads = dump(pair.run()).of("read", pair.probed.outcome.pid);
  ASSERT_EQ(reads.size(), 5u);
  const auto writer = [&](const char* key) {
    return std::stoll(pair.probed.told(std::string("writer_of_") + key).at(0));
  };
  EXPECT_EQ(reads[0].waker_tid(), writer("pipe"));
  EXPECT_EQ(reads[1].waker_tid(), writer("next_pipe"));
  EXPECT_EQ(reads[2].waker_tid(), 0);
  EXPECT_EQ(reads[3].waker_tid(), 0);
  EXPECT_EQ(reads[4].waker_tid(), writer("event"));
}

TEST(Waits, HaveNoNamesWhereTheyAreRedacted) {
  const Pair pair(victim("1"));
  expect_same(pair);
  const Dump calls = dump(pair.run());
  EXPECT_FALSE(calls.of("read", pair.probed.outcome.pid).empty());
  for (const Call& call : calls.calls) EXPECT_EQ(call.text("name"), "") << call.function;
}

}  // namespace
}  // namespace hostprobe::test
