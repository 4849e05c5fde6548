// collective_section.cpp: see collective_section.h.
#include "collective_section.h"

#include <fmt/format.h>

#include <algorithm>

#include "amount.h"
#include "chart.h"
#include "member.h"
#include "table.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostCollectives = 60;

std::vector<Column> collective_columns() {
  return {{.title = "Operation", .is_number = false},
          {.title = "Communicator", .is_number = false},
          {.title = "Ranks"},
          {.title = "Count"},
          {.title = "Bytes", .hint = "Of all of them, per rank"},
          {.title = "Call, median"},
          {.title = "Call, p99"},
          {.title = "Lateness", .hint = "From the first rank's arrival to the last one's, median", .is_number = false},
          {.title = "Lateness, p99"},
          {.title = "Most often last", .is_number = false},
          {.title = "Later than the second last by"},
          {.title = "GB/s", .hint = "On the bus"}};
}

std::string last_of(const JsonValue& collective) {
  const auto rank = number_in(collective, "last.rank");
  if (!rank) return "–";
  return fmt::format("rank {:.0f}, {}{}", *rank, pct_amount(number_in(collective, "last.share_pct")),
                     flag_in(collective, "last.beyond_chance") ? "" : " (may be chance)");
}

void add_collective(const JsonValue& collective, double widest_us, Table& table) {
  const auto number = [&collective](const char* path, auto words) {
    const auto value = number_in(collective, path);
    return number_cell(words(value), value);
  };
  Cell lateness = number("skew_p50_us", us_amount);
  if (lateness.order)
    lateness.markup = stacked_bar({{"late", *lateness.order, ""}}, widest_us, "lateness " + lateness.text);
  table.row({name_cell(text_in(collective, "op")),
             name_cell(text_in(collective, "comm")),
             number("ranks", count_amount),
             number("count", count_amount),
             number("bytes", bytes_amount),
             number("host_p50_us", us_amount),
             number("host_p99_us", us_amount),
             lateness,
             number("skew_p99_us", us_amount),
             {.text = last_of(collective), .order = number_in(collective, "last.share_pct")},
             number("last.late_p50_us", us_amount),
             number("bus_gb_s", plain_amount)});
}

void add_delays(const JsonValue& document, Markup& page) {
  const auto& links = list_in(document, "delay_chain");
  if (links.empty()) return;
  page.element("h3", "How a delay reaches other ranks");
  Table table("Each link of the way",
              {{.title = "Link"},
               {.title = "Count"},
               {.title = "Median"},
               {.title = "p99"},
               {.title = "Longest"},
               {.title = "Worst", .hint = "The rank whose p99 is the longest", .is_number = false}});
  for (const JsonValue& link : links) {
    const auto number = [&link](const char* path) {
      const auto value = number_in(link, path);
      return number_cell(us_amount(value), value);
    };
    const auto rank = number_in(link, "rank"), count = number_in(link, "count");
    table.row({text_cell(spaced(text_in(link, "link"))), number_cell(count_amount(count), count), number("p50_us"),
               number("p99_us"), number("max_us"), text_cell(rank ? fmt::format("rank {:.0f}", *rank) : "–")});
  }
  table.write(page, "");
}

}  // namespace

void add_collectives(const JsonValue& document, Markup& page) {
  page.open("section", {{"id", "collectives"}}).element("h2", "Collectives");
  const auto& collectives = list_in(document, "collectives");
  double widest_us = 0;
  for (const JsonValue& one : collectives) widest_us = std::max(widest_us, number_in(one, "skew_p50_us").value_or(0));
  Table table("Operations between ranks, by communicator", collective_columns());
  for (std::size_t i = 0; i < std::min(collectives.size(), kMostCollectives); ++i)
    add_collective(collectives[i], widest_us, table);
  table.write(page, "No collective was seen.");
  if (collectives.size() > kMostCollectives)
    page.element("p", fmt::format("{} more are in the document.", collectives.size() - kMostCollectives));
  add_delays(document, page);
  page.close();
}

}  // namespace hostprobe::analysis
