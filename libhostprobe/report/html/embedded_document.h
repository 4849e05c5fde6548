// embedded_document.h: the JSON document that a page is made of, inside of it: for scripts, and for who wants the numbers.
//
// Room 3.
#pragma once

#include "markup.h"
#include "report/json_value.h"

namespace hostprobe::analysis {

// <script id="document">: as text of type application/json; of long documents gzip in base64, as application/gzip.
void add_document(const JsonValue& document, Markup& page);

}  // namespace hostprobe::analysis
