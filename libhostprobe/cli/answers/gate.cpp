// gate.cpp: see gate.h.
#include "gate.h"

#include <cctype>
#include <cstdlib>
#include <optional>

#include "cli/output.h"
#include "report/diff/gate_text.h"

namespace hostprobe::cli {
namespace {

constexpr double kMostPct = 1e6;

// "3%", "3" or "2.5 %"; nothing: it is none.
std::optional<double> percent(const std::string& text) {
  const bool is_plain = !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) != 0;
  if (!is_plain || text.find_first_of("xXeE") != std::string::npos) return {};
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string rest = end;
  return value <= kMostPct && (rest.empty() || rest == "%" || rest == " %") ? std::optional(value) : std::nullopt;
}

std::string check_percent(const std::string& text) { return percent(text) ? "" : "no percentage, such as 3%"; }

}  // namespace

double GateLimit::pct() const { return percent(text).value_or(0); }

Option gate_option(GateLimit& limit) {
  return {.names = "--fail-over",
          .target = &limit.text,
          .meaning = "Exit 1 where steps of B are slower by more than PCT beyond noise, 3 where that is not known",
          .value_name = "PCT",
          .check = check_percent};
}

int gate_status(const analysis::StepGate& gate, bool says_why) {
  if (says_why) say(analysis::gate_text(gate));
  switch (gate.result) {
    case analysis::GateResult::kNotSlower:
      return kDone;
    case analysis::GateResult::kSlower:
      return kCouldNot;
    case analysis::GateResult::kCannotTell:
      break;
  }
  return kCannotTell;
}

int within_gate(const GateLimit& limit, const std::function<int()>& compare) {
  if (!limit.is_wanted()) return compare();
  try {
    return compare();
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    say(error.what());
    return kCannotTell;
  }
}

}  // namespace hostprobe::cli
