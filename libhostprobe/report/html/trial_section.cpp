// trial_section.cpp: see trial_section.h.
#include "trial_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "amount.h"
#include "chart.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

// One scale for all rows, so that bars can be compared.
double widest_pct(const JsonValue& document) {
  double widest = 1;
  for (const JsonValue& trial : list_in(document, "trials"))
    for (const char* path : {"gain_pct", "gain_low_pct", "gain_high_pct"})
      widest = std::max(widest, std::abs(number_in(trial, path).value_or(0)));
  return widest;
}

void add_trial(const JsonValue& trial, double widest, Table& table) {
  const auto gain = number_in(trial, "gain_pct"), low = number_in(trial, "gain_low_pct"),
             high = number_in(trial, "gain_high_pct"), without = number_in(trial, "step_without_ms"),
             with = number_in(trial, "step_with_ms");
  const std::string words = gain_amount(gain, low, high);
  table.row({text_cell(text_in(trial, "fix")),
             text_cell(who_in(trial)),
             text_cell(spaced(text_in(trial, "decision"))),
             number_cell(ms_amount(without), without),
             number_cell(ms_amount(with), with),
             {.text = words + " ",
              .order = gain,
              .markup = range_bar({.value = gain.value_or(0), .low = low, .high = high, .from = -widest, .to = widest},
                                  "steps shorter by " + words)},
             text_cell(fmt::format("{} without, {} with", count_amount(number_in(trial, "windows_without")),
                                   count_amount(number_in(trial, "windows_with"))))},
            number_in(trial, "rank"));
}

}  // namespace

void add_trials(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "trials"}}).element("h2", "Fixes that were tried");
  const double widest = widest_pct(document);
  Table table("The same job without and with each fix, in turns",
              {{.title = "Fix"},
               {.title = "By", .is_number = false},
               {.title = "Decision", .is_number = false},
               {.title = "Step without"},
               {.title = "Step with"},
               {.title = "Shorter by", .hint = "With what it is at least and at most", .is_number = false},
               {.title = "Windows", .is_number = false}});
  for (const JsonValue& trial : list_in(document, "trials")) add_trial(trial, widest, table);
  table.write(page, "None was tried in this run: hostprobe run --fix auto tries them.");
  page.close();
}

}  // namespace hostprobe::analysis
