// text.cpp: see text.h.
#include "text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "first_screen.h"
#include "process_text.h"
#include "report/columns.h"
#include "tables.h"

namespace hostprobe::analysis {
namespace {

// Those of the whole run; the others are parts of the sections of processes.
constexpr std::string_view kBefore[] = {"losses", "findings", "time", "steps", "ranks"};
constexpr std::string_view kBehind[] = {"machine", "collectives", "delays", "fixes", "actions"};

std::string heading(const NamedTable& table) {
  std::string name = table.name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char one) { return std::toupper(one); });
  return fmt::format("{} · {}\n", name, table.meaning);
}

std::string section(const NamedTable& table, const std::string& text) {
  return text.empty() ? text : "\n" + heading(table) + text;
}

template <typename Names>
std::string sections(const RunAnswer& run, const ReportOptions& options, const Names& names) {
  std::string text;
  for (const std::string_view name : names)
    for (const NamedTable& table : named_tables())
      if (name == table.name) text += section(table, table.text(run, options));
  return text;
}

std::string chosen_tables(const RunAnswer& run, const ReportOptions& options) {
  std::string text;
  for (const std::string& name : options.tables)
    for (const NamedTable& table : named_tables()) {
      if (name != table.name) continue;
      const std::string rows = table.text(run, options);
      text += (text.empty() ? "" : "\n") + heading(table) +
              (rows.empty() ? fmt::format("None: {}.\n", table.nothing) : rows);
    }
  return text;
}

// Of `hostprobe report RUN --rank 3` all that is known of that rank; with --all of every process.
std::string everything(const RunAnswer& run, const ReportOptions& options) {
  std::string text = sections(run, options, kBefore);
  for (const ProcessAnswer& process : run.processes)
    if (options.shows(process))
      text += process_text(run, process, options.all ? Detail::kAll : Detail::kUsual, options.width);
  return text + sections(run, options, kBehind);
}

}  // namespace

std::string report_text(const RunAnswer& run, const ReportOptions& options) {
  if (!options.tables.empty()) return chosen_tables(run, options);
  const std::string screen = first_screen(run, options);
  return options.all || options.rank ? screen + everything(run, options) : screen;
}

}  // namespace hostprobe::analysis
