// table.h: what a table is called, which columns it has, and where its rows come from.
//
// Room 5. The definitions stand beside the code that fills them (record_tables.cpp, activity_table.cpp, answer_tables.cpp);
// docs/tables.md is made of them, and a test holds it to them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arrow_abi.h"

namespace hostprobe::tables {

enum class Type : std::uint8_t { kInt32, kUint32, kInt64, kUint64, kReal, kBool, kText, kWord };  // kWord: a dictionary

const char* type_name(Type type);  // as docs/tables.md has it

struct ColumnName {
  std::string_view name;
  Type type = Type::kInt64;
  bool nullable = false;
  std::string_view meaning;  // with its unit
};

struct TableName {
  std::string_view name;
  std::string_view meaning;
  std::vector<ColumnName> columns;
  bool by_process = true;  // its rows can be asked for process by process
};

// What a caller asked for cannot be.
struct BadRequest : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

class Run;

// Some traces of a run, by their place in it.
struct TraceRange {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// Rows in batches, one after the other. May be asked by any thread, by one at a time.
class Batches {
 public:
  virtual ~Batches() = default;
  // False: there are no more.
  virtual bool next(ArrowArray* out) = 0;
};

// In the order in which they are listed.
const std::vector<TableName>& table_names();
// Throws BadRequest.
const TableName& table_named(std::string_view name);
// Places of the columns, in the order asked for. Throws BadRequest.
std::vector<std::size_t> columns_named(const TableName& table, const std::vector<std::string>& names);

// Rows of a table, with the columns at these places of its definition.
std::unique_ptr<Batches> open_batches(std::shared_ptr<Run> run, const TableName& table,
                                      std::vector<std::size_t> columns, TraceRange traces);

using Metadata = std::vector<std::pair<std::string, std::string>>;
void make_schema(const TableName& table, const std::vector<std::size_t>& columns, const Metadata& metadata,
                 ArrowSchema* out);

}  // namespace hostprobe::tables
