// json_numbers.h: numbers as the JSON report writes them: what was not measured is null, never 0.
//
// Room 3.
#pragma once

#include <optional>
#include <string>

#include "answer/histogram.h"
#include "json_value.h"

namespace hostprobe::analysis {

using Json = JsonValue;

template <typename T>
inline Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
inline Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

inline Json ms_or_null(const Histogram& time, double ns) { return time.count() == 0 ? Json(nullptr) : Json(ns * 1e-6); }
inline Json us_or_null(const Histogram& time, double ns) { return time.count() == 0 ? Json(nullptr) : Json(ns * 1e-3); }
inline Json percentile_us(const Histogram& time, double percent) {
  return us_or_null(time, time.percentile_ns(percent));
}

}  // namespace hostprobe::analysis
