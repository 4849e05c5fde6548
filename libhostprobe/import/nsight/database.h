// database.h: a database of SQLite that another program wrote, opened for reading alone.
//
// Room 3. It is somebody else's file: nothing beside it is written, no function or view of it runs, and it may be damaged. Only the
// tables and columns that are asked for by name are looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace hostprobe::analysis {

// A row of a table, with the columns that were asked for.
class DatabaseRow {
 public:
  DatabaseRow(sqlite3_stmt* statement, const std::vector<int>& places) : statement_(statement), places_(places) {}

  bool has(std::size_t column) const;  // it is there, and not NULL
  std::int64_t whole(std::size_t column) const;
  std::string text(std::size_t column) const;

 private:
  sqlite3_stmt* statement_;
  const std::vector<int>& places_;  // of each column that was asked for; -1: the table lacks it
};

class Database {
 public:
  // Throws DatabaseError when it is none, or cannot be opened.
  explicit Database(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool has_table(const std::string& table) const { return tables_.contains(table); }
  // Every row of a table that is there. Returns why not all of them could be read; "" = they were.
  std::string read(const std::string& table, const std::vector<std::string>& columns,
                   const std::function<void(const DatabaseRow& row)>& on_row) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  std::unique_ptr<sqlite3, Close> database_;
  std::map<std::string, std::set<std::string>> tables_;  // with their columns
};

struct DatabaseError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace hostprobe::analysis
