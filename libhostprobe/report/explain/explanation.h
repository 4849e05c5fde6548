// explanation.h: what a cause is, by its page, and what of it was seen in a run.
//
// Room 3. Pure functions of answer/ and of the page; the document is what programs ask for.
#pragma once

#include <string>

#include "answer/run.h"
#include "report/embedded_text.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

// `run` may be null: then it is the page alone.
std::string explanation_text(const EmbeddedText& page, const RunAnswer* run);
JsonValue explanation_document(const EmbeddedText& page, const RunAnswer* run);

// The id and the first sentence of each page, a line each.
std::string causes_text();

}  // namespace hostprobe::analysis
