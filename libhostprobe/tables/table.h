// table.h: what a table is called and which columns it has.
//
// Room 3. A definition stands beside the code that fills the table (record_tables.cpp, activity_table.cpp, process_tables.cpp,
// run_tables.cpp); docs/reference/tables.md is made of them, and a test holds it to them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hostprobe::tables {

enum class Type : std::uint8_t { kInt32, kUint32, kInt64, kUint64, kReal, kBool, kText, kWord };  // kWord: a dictionary

const char* type_name(Type type);  // as docs/reference/tables.md has it

struct ColumnName {
  std::string_view name;
  Type type = Type::kInt64;
  bool nullable = false;
  std::string_view meaning;
};

// Of a quantity, which its name ends in: "ns" of "begin_ns". "" where it has none.
std::string_view unit_of(const ColumnName& column);

struct TableName {
  std::string_view name;
  std::string_view meaning;
  std::vector<ColumnName> columns;
  bool by_process = true;  // its rows can be asked for process by process
};

// Places of the columns, in the order asked for. Throws BadRequest.
std::vector<std::size_t> columns_named(const TableName& table, const std::vector<std::string>& names);

// Names with commas between, for messages.
template <typename Named>
std::string listed(const std::vector<Named>& all) {
  std::string text;
  for (const Named& one : all) text += (text.empty() ? "" : ", ") + std::string(one.name);
  return text;
}

// What a caller asked for cannot be.
struct BadRequest : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace hostprobe::tables
