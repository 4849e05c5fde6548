// page_file.h: where `report --html` and `diff --html` put a page, and what they never write over.
//
// Room 4. A page is whole or not there: it has its name once all of it is written.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "report/json_value.h"

namespace hostprobe::cli {

struct PageArguments {
  std::string file;  // "": no page is wanted
  bool redact = false;
  bool force = false;

  bool is_wanted() const { return !file.empty(); }
};

// Behind its other options.
void add_page_options(PageArguments& arguments, Command& command);

// Before a long reading: throws where the file is somebody else's, or an option has nothing to say.
void require_page_file(const PageArguments& arguments);

// Says on stderr what is written where.
void write_page(const PageArguments& arguments, const analysis::JsonValue& document,
                std::string (*page_of)(const analysis::JsonValue&));

}  // namespace hostprobe::cli
