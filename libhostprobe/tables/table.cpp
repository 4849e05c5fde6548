// table.cpp: see table.h.
#include "table.h"

#include <fmt/format.h>

#include <algorithm>

namespace hostprobe::tables {

const char* type_name(Type type) {
  switch (type) {
    case Type::kInt32:
      return "int32";
    case Type::kUint32:
      return "uint32";
    case Type::kInt64:
      return "int64";
    case Type::kUint64:
      return "uint64";
    case Type::kReal:
      return "double";
    case Type::kBool:
      return "bool";
    case Type::kText:
      return "string";
    case Type::kWord:
      return "dictionary<int32, string>";
  }
  return "";
}

std::string_view unit_of(const ColumnName& column) {
  struct Ending {
    std::string_view ending, unit;
  };
  constexpr Ending kEndings[] = {{"_ns", "ns"},     {"_us", "µs"},      {"_ms", "ms"},        {"_pct", "%"},
                                 {"_gb_s", "GB/s"}, {"bytes", "bytes"}, {"ms_per_step", "ms"}};
  if (column.name == "ms") return "ms";
  for (const Ending& one : kEndings)
    if (column.name.ends_with(one.ending)) return one.unit;
  return {};
}

std::vector<std::size_t> columns_named(const TableName& table, const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                    [&name](const ColumnName& column) { return column.name == name; });
    const auto place = static_cast<std::size_t>(found - table.columns.begin());
    if (found == table.columns.end())
      throw BadRequest(fmt::format("no column {} in {}; its columns are {}", name, table.name, listed(table.columns)));
    if (std::find(places.begin(), places.end(), place) != places.end())
      throw BadRequest(fmt::format("column {} is asked for twice", name));
    places.push_back(place);
  }
  return places;
}

}  // namespace hostprobe::tables
