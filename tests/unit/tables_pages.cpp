// The pages that list tables: docs/reference/tables.md and docs/reference/export.md say what tables/ defines. HOSTPROBE_WRITE_PAGES=1 in the
// environment puts it in.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "tables/tables.h"
#include "tables/tracer_columns.h"

namespace hostprobe::tables {
namespace {

std::string row(std::initializer_list<std::string_view> cells) {
  std::string text = "|";
  for (const std::string_view cell : cells) text += (cell.empty() ? "" : " ") + std::string(cell) + " |";
  return text + "\n";
}

std::string markdown(const Table& table) {
  std::string meaning(table.meaning);
  meaning[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
  std::string text = "## `" + std::string(table.name) + "`\n\n" + meaning + ". " +
                     (table.by_process ? "Of records, by process." : "Of the answer.") +
                     "\n\n| column | type | unit | |\n|---|---|---|---|\n";
  for (const ColumnName& column : table.columns)
    text += row({column.name, std::string(type_name(column.type)) + (column.nullable ? "" : ", never null"),
                 unit_of(column), column.meaning});
  return text;
}

std::string all_tables_text() {
  std::string text;
  for (const Table& table : all_tables()) text += (text.empty() ? "" : "\n") + markdown(table);
  return text;
}

std::string tracer_columns_text() {
  std::string text = "| column | of | what |\n|---|---|---|\n";
  for (const analysis::TracerColumn& column : analysis::kTracerColumns)
    text += row({column.name, column.of, column.meaning});
  return text;
}

// `text` stands in the page from where `begin` first does until `end` does behind it, or to the page's end.
void expect_in(const std::string& name, const std::string& begin, const std::string& end, const std::string& text) {
  const std::string path = std::string(HOSTPROBE_TEST_DOCS) + "/" + name;
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string page = read.str();
  const std::size_t from = page.find(begin), to = end.empty() ? page.size() : page.find(end, from);
  ASSERT_NE(from, std::string::npos) << path;
  ASSERT_NE(to, std::string::npos) << path;
  if (std::getenv("HOSTPROBE_WRITE_PAGES") != nullptr) {
    std::ofstream(path) << page.substr(0, from) + text + page.substr(to);
    return;
  }
  EXPECT_EQ(page.substr(from, to - from), text) << "run this with HOSTPROBE_WRITE_PAGES=1 to put it into " << path;
}

TEST(Pages, TablesAreListedAsTheyAreDefined) { expect_in("tables.md", "## `launches`", "", all_tables_text()); }

TEST(Pages, ColumnsOfTheCsvTableAreListedAsTheyAreDefined) {
  expect_in("export.md", "| column | of | what |", "\n`hostprobe import --csv`", tracer_columns_text());
}

TEST(Tables, NamesOfColumnsAreUniqueAndQuantitiesEndInTheirUnit) {
  for (const Table& table : all_tables())
    for (const ColumnName& column : table.columns) {
      EXPECT_EQ(columns_named(table, {std::string(column.name)}).size(), 1u);
      EXPECT_FALSE(column.meaning.empty()) << table.name << " " << column.name;
      if (column.type == Type::kReal && column.name != "value") {
        EXPECT_NE(unit_of(column), "") << table.name << " " << column.name;
      }
    }
  EXPECT_THROW(columns_named(table_named("syncs"), {"grid_x"}), BadRequest);
  EXPECT_THROW(columns_named(table_named("syncs"), {"rank", "rank"}), BadRequest);
  EXPECT_THROW(table_named("launch"), BadRequest);
}

}  // namespace
}  // namespace hostprobe::tables
