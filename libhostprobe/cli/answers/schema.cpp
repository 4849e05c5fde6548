// schema.cpp: `hostprobe schema`.
#include <memory>

#include "cli/commands.h"
#include "cli/output.h"
#include "report/embedded_text.h"

namespace hostprobe::cli {
namespace {

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const analysis::EmbeddedText& schema : analysis::schemas()) names.push_back(schema.name);
  return names;
}

int print_schema(const std::string& name) {
  for (const analysis::EmbeddedText& schema : analysis::schemas())
    if (schema.name == name) write_json(schema.text);
  return kDone;
}

}  // namespace

Command schema_command() {
  auto name = std::make_shared<std::string>();
  return {.name = "schema",
          .summary = "Prints the JSON Schema of a document.",
          .options = {{.names = "DOCUMENT",
                       .target = name.get(),
                       .meaning =
                           "report, diff or top: of the document that this command prints with --json; step_rows: of "
                           "a row of that table",
                       .choices = schema_names(),
                       .required = true}},
          .notes =
              "JSON Schema, draft 2020-12. The number that a document has as `schema` is the last part of its schema's "
              "$id.\n"
              "Keys may be added within one number; none is renamed.\n"
              "Example:\n  hostprobe schema report > report.schema.json && check-jsonschema --schemafile "
              "report.schema.json r.json",
          .run = [name](const Words&) { return print_schema(*name); }};
}

}  // namespace hostprobe::cli
