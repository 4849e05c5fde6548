// redaction.h: a document without names: of paths, hosts, commands, functions, threads and whatever else a program brought along.
//
// Room 3. What may stay is listed, so that a key which is new to this file is redacted too. The same name has the same substitute
// all over one document, and numbers stay what they are.
#pragma once

#include "report/json_value.h"

namespace hostprobe::analysis {

JsonValue redacted(const JsonValue& document);

}  // namespace hostprobe::analysis
