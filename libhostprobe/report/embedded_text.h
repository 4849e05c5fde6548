// embedded_text.h: texts of the repository that travel in the command: the schemas of its documents, and a page for each cause
// (embed_texts.py).
//
// Room 3.
#pragma once

#include <string>
#include <vector>

namespace hostprobe::analysis {

struct EmbeddedText {
  std::string name;
  std::string text;
};

const std::vector<EmbeddedText>& schemas();      // report/schema/NAME.schema.json
const std::vector<EmbeddedText>& cause_pages();  // of docs/causes/

}  // namespace hostprobe::analysis
