// job_option.h: which job of a run folder a command is about: --job, else the newest, and what is said about the others.
//
// Room 4.
#pragma once

#include <optional>
#include <string>

#include "command.h"
#include "trace/jobs.h"

namespace hostprobe::cli {

using JobNumber = std::optional<unsigned>;

// RUN, of a command that reads one.
Option run_option(std::string& run);
Option job_option(JobNumber& job, const std::string& name = "--job");

// Joins windows of PyTorch's profiler first. Throws as analysis::ChosenJob. Says which run it took where it was given a folder of runs.
analysis::ChosenJob choose_job(const std::string& run, const JobNumber& job);

// Where nothing else in the output says so: which job it is of, if there are several.
void say_job(const analysis::ChosenJob& chosen);

}  // namespace hostprobe::cli
