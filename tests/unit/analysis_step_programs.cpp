// Steps found in programs that nobody wrote: model/step_period.cpp on what step_program.h draws. HOSTPROBE_TEST_SEED=N repeats a draw.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "model/step_period.h"
#include "step_program.h"

namespace hostprobe::analysis {
namespace {

enum class Verdict { kRight, kNone, kOff, kByAFactor };

std::uint64_t drawn_seed() {
  const char* given = std::getenv("HOSTPROBE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
}

std::vector<double> lengths_of(const std::vector<double>& ends_ns, double begin_ns, double end_ns) {
  std::vector<double> lengths;
  for (std::size_t i = 1; i < ends_ns.size(); ++i)
    if (ends_ns[i - 1] >= begin_ns && ends_ns[i] <= end_ns) lengths.push_back(ends_ns[i] - ends_ns[i - 1]);
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

// Where every second step logs something, steps have two lengths, and it is chance which of them is in the middle.
bool is_in_the_middle(double median, const std::vector<double>& truth) {
  const auto at = [&truth](double share) {
    return truth[static_cast<std::size_t>(share * static_cast<double>(truth.size() - 1) + 0.5)];
  };
  return median >= 0.98 * at(0.45) && median <= 1.02 * at(0.55);
}

Verdict judge(const test::StepProgram& program) {
  const auto cut = find_period(program.tokens);
  if (!cut || program.ends_ns.size() < 4) return Verdict::kNone;
  StepCutter cutter(*cut);
  std::vector<double> found_ns;
  const double begin_ns = program.ends_ns.front() - 1, end_ns = program.ends_ns.back() + 1;
  double at_ns = 0;
  for (const Token& token : program.tokens)
    if (cutter.ends(token, at_ns) && at_ns >= begin_ns && at_ns <= end_ns) found_ns.push_back(at_ns);
  const std::vector<double> truth = lengths_of(program.ends_ns, begin_ns, end_ns);
  const std::vector<double> found = lengths_of(found_ns, begin_ns, end_ns);
  if (found.empty()) return Verdict::kByAFactor;
  const double median = found[(found.size() - 1) / 2], usual = truth[(truth.size() - 1) / 2];
  const auto count = static_cast<double>(found_ns.size()), steps = static_cast<double>(program.ends_ns.size());
  // The first and the last; around a gap two each.
  const double some = program.has_gaps ? 8 : 2;
  const bool is_length = is_in_the_middle(median, truth), is_count = std::abs(count - steps) <= 0.02 * steps + some;
  if (is_length && is_count) return Verdict::kRight;
  const auto is_far = [](double ratio) { return ratio > 1.5 || ratio < 1 / 1.5; };
  return (!is_length && is_far(median / usual)) || is_far(count / steps) ? Verdict::kByAFactor : Verdict::kOff;
}

TEST(StepPrograms, HaveTheStepsThatTheyWereMadeOf) {
#if defined(__SANITIZE_ADDRESS__)
  constexpr std::uint64_t kPrograms = 200;  // each takes twenty times as long
#else
  constexpr std::uint64_t kPrograms = 1000;
#endif
  const std::uint64_t seed = drawn_seed();
  std::printf("HOSTPROBE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::size_t counts[4] = {};
  for (std::uint64_t i = 0; i < kPrograms; ++i) {
    const test::StepProgram program(seed + i);
    const Verdict verdict = judge(program);
    ++counts[static_cast<std::size_t>(verdict)];
    if (verdict == Verdict::kByAFactor || verdict == Verdict::kOff)
      std::printf("%s: HOSTPROBE_TEST_SEED=%llu: %s\n", verdict == Verdict::kOff ? "off" : "wrong by a factor",
                  static_cast<unsigned long long>(seed + i), program.text.c_str());
  }
  std::printf("right %zu, none %zu, off %zu, by a factor %zu\n", counts[0], counts[1], counts[2], counts[3]);
  EXPECT_GE(counts[0] + counts[1], kPrograms * 99 / 100);
  EXPECT_GE(counts[0], kPrograms * 93 / 100) << "to say none is safe, but of no use";
  // Of 10 000 programs 3 to 10 were wrong by a factor, of a thousand therefore one at most or two; nine are no chance.
  EXPECT_LE(counts[3], 8u);
}

}  // namespace
}  // namespace hostprobe::analysis
