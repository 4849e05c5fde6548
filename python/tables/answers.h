// answers.h: what the analysis and the reports say about opened runs, as text for Python.
//
// Room 5. Without the interpreter: each of these may be waited for without its lock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tables/run.h"

namespace hostprobe::tables {

// How a run is analysed, and its findings put in words.
Answers answers_of_runs();

// Documents as the command prints them with --json.
std::string report_text(Run& run);
std::string diff_text(Run& a, Run& b, std::optional<double> fail_over_pct);
std::string explanation_text(const std::string& cause,
                             Run* run);  // `run` null: the page alone. BadRequest: no such cause

}  // namespace hostprobe::tables
