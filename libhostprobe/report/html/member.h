// member.h: members of a JSON document by their names, where a page takes what is there and leaves out what is not.
//
// Room 3.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/json_value.h"

namespace hostprobe::analysis {

// Null where there is no such member. A path has dots between its names.
const JsonValue& member(const JsonValue& of, std::string_view path);
// Nothing, "", no elements: it is not there, or something else.
std::optional<double> number_in(const JsonValue& of, std::string_view path);
std::string text_in(const JsonValue& of, std::string_view path);
const JsonValue::Array& list_in(const JsonValue& of, std::string_view path);
bool flag_in(const JsonValue& of, std::string_view path);

// Of the value itself.
std::optional<double> number_of(const JsonValue& value);
std::string text_of(const JsonValue& value);
const JsonValue::Object& members_of(const JsonValue& value);

// "rank 3", "process 4711"; "the job" where neither is known.
std::string who_in(const JsonValue& of);
// Of its processes, the one that `of` names by its pid or its rank; nullptr: none, or the whole job.
const JsonValue* process_in(const JsonValue& document, const JsonValue& of);

}  // namespace hostprobe::analysis
