// text_report.cpp: see text_report.h.
#include "text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/nearest.h"
#include "cli/output.h"
#include "report/diff/diff_text.h"
#include "report/text/tables.h"
#include "report/text/text.h"
#include "terminal.h"

namespace hostprobe::cli {
namespace {

std::string check_table(const std::string& name) {
  std::vector<std::string> names;
  for (const analysis::NamedTable& table : analysis::named_tables()) names.push_back(table.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  return fmt::format("no table '{}'{}; there are: {}", name, suggestion(name, names), fmt::join(names, " "));
}

}  // namespace

Option table_option(analysis::ReportOptions& options) {
  return {.names = "TABLE",
          .target = &options.tables,
          .meaning = "These tables instead of the first screen; listed below",
          .check = check_table};
}

std::string table_help() {
  std::string text = "Tables (with --all every row, with --rank N those of a rank):\n";
  for (const analysis::NamedTable& table : analysis::named_tables())
    text += fmt::format("  {:<12} {}\n", table.name, table.meaning);
  return text;
}

void print_report(const analysis::RunAnswer& run, analysis::ReportOptions options) {
  options.width = text_width();
  write_out(analysis::report_text(run, options));
}

void print_diff(const analysis::RunDiff& changes, const analysis::RunAnswer& a, const analysis::RunAnswer& b,
                bool all) {
  write_out(analysis::diff_text(changes, a, b, {.all = all, .width = text_width()}));
}

}  // namespace hostprobe::cli
