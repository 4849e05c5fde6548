// amount.cpp: see amount.h.
#include "amount.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "words/words.h"

namespace hostprobe::analysis {
namespace {

constexpr char kNotMeasured[] = "–";

// Digits that say something: of 12.34 two, of 0.0123 two as well.
std::string short_number(double number) {
  const double size = std::abs(number);
  if (size >= 9.95 || number == 0) return fmt::format("{:.0f}", number);
  return size >= 0.095 ? fmt::format("{:.1f}", number) : fmt::format("{:.1g}", number);
}

}  // namespace

std::string ms_amount(const MaybeNumber& ms) { return ms ? duration_text(1e6 * *ms) : kNotMeasured; }

std::string us_amount(const MaybeNumber& us) { return us ? duration_text(1e3 * *us) : kNotMeasured; }

std::string pct_amount(const MaybeNumber& pct) {
  if (!pct) return kNotMeasured;
  return *pct > 0 && *pct < 0.05 ? "< 0.1 %" : short_number(*pct) + " %";
}

std::string change_amount(const MaybeNumber& pct) {
  if (!pct) return kNotMeasured;
  if (*pct > 100) return fmt::format("× {:.1f}", 1 + *pct / 100);
  return fmt::format("{}{} %", *pct > 0 ? "+" : "", short_number(*pct));
}

std::string count_amount(const MaybeNumber& count) {
  constexpr double kMostCounted = 1e18;
  if (!count) return kNotMeasured;
  return *count < kMostCounted ? grouped(static_cast<std::uint64_t>(std::max(0.0, *count))) : plain_amount(count);
}

std::string bytes_amount(const MaybeNumber& bytes) {
  if (!bytes) return kNotMeasured;
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double amount = *bytes;
  std::size_t unit = 0;
  for (; unit < 4 && amount >= 1024; ++unit) amount /= 1024;
  return fmt::format("{} {}", short_number(amount), kUnits[unit]);
}

std::string plain_amount(const MaybeNumber& number) { return number ? fmt::format("{:.3g}", *number) : kNotMeasured; }

std::string gain_amount(const MaybeNumber& gain, const MaybeNumber& low, const MaybeNumber& high) {
  if (!gain) return kNotMeasured;
  if (!low || !high) return pct_amount(gain);
  return fmt::format("{} ({} to {})", pct_amount(gain), short_number(*low), short_number(*high));
}

std::string spaced(std::string_view id) {
  std::string words(id);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

}  // namespace hostprobe::analysis
