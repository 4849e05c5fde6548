// database.cpp: see database.h.
#include "database.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace hostprobe::analysis {
namespace {

constexpr int kLongestValue = 1 << 26;
constexpr int kStepsBetweenLooks = 1'000'000;
constexpr int kMostLooks = 100'000;  // at 10^11 steps of SQLite's own machine a file goes round in circles

struct Finish {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finish>;

// "file:///data/r%20a.sqlite?immutable=1": as the file stands there, and no journal beside it.
std::string uri_of(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '_' || c == '-';
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri + "?immutable=1";
}

// Other people's names, as SQL has them.
std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + "\"";
}

int count_looks(void* looks) { return ++*static_cast<int*>(looks) > kMostLooks ? 1 : 0; }

Statement prepare(sqlite3* database, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()), &statement, nullptr);
  return Statement(statement);
}

std::string text_of(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return text == nullptr ? "" : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace

bool DatabaseRow::has(std::size_t column) const {
  return places_[column] >= 0 && sqlite3_column_type(statement_, places_[column]) != SQLITE_NULL;
}

std::int64_t DatabaseRow::whole(std::size_t column) const {
  return places_[column] < 0 ? 0 : sqlite3_column_int64(statement_, places_[column]);
}

std::string DatabaseRow::text(std::size_t column) const {
  return places_[column] < 0 ? "" : text_of(statement_, places_[column]);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

Database::~Database() = default;

Database::Database(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(uri_of(path).c_str(), &opened,
                                   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) throw DatabaseError(sqlite3_errstr(code));
  sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_limit(opened, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_limit(opened, SQLITE_LIMIT_ATTACHED, 0);
  const Statement names = prepare(opened, "select name from sqlite_master where type = 'table'");
  if (!names) throw DatabaseError(sqlite3_errmsg(opened));
  while (sqlite3_step(names.get()) == SQLITE_ROW) tables_.try_emplace(text_of(names.get(), 0));
  for (auto& [name, columns] : tables_) {
    const Statement rows = prepare(opened, "select name from pragma_table_info(" + quoted(name) + ")");
    const Statement plain = rows ? nullptr : prepare(opened, "pragma table_info(" + quoted(name) + ")");
    while (rows && sqlite3_step(rows.get()) == SQLITE_ROW) columns.insert(text_of(rows.get(), 0));
    while (plain && sqlite3_step(plain.get()) == SQLITE_ROW) columns.insert(text_of(plain.get(), 1));
  }
}

std::string Database::read(const std::string& table, const std::vector<std::string>& columns,
                           const std::function<void(const DatabaseRow& row)>& on_row) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return {};
  std::string list;
  std::vector<int> places;
  int count = 0;
  for (const std::string& column : columns) {
    const bool is_there = found->second.contains(column);
    places.push_back(is_there ? count++ : -1);
    if (is_there) list += (list.empty() ? "" : ", ") + quoted(column);
  }
  if (list.empty()) return fmt::format("table {} has none of the columns that are known", table);
  int looks = 0;
  sqlite3_progress_handler(database_.get(), kStepsBetweenLooks, count_looks, &looks);
  const Statement statement = prepare(database_.get(), "select " + list + " from " + quoted(table));
  int code = statement ? SQLITE_ROW : sqlite3_errcode(database_.get());
  while (code == SQLITE_ROW && (code = sqlite3_step(statement.get())) == SQLITE_ROW)
    on_row(DatabaseRow(statement.get(), places));
  sqlite3_progress_handler(database_.get(), 0, nullptr, nullptr);
  return code == SQLITE_DONE ? "" : fmt::format("table {}: {}", table, sqlite3_errmsg(database_.get()));
}

}  // namespace hostprobe::analysis
