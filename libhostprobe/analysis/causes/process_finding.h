// process_finding.h: a finding of one process, before its evidence, and the shares of its life by which detectors weigh it.
//
// Room 3.
#pragma once

#include <optional>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

// The processes whose speed is the job's: ranks where there are any, else everything that was not forked by another.
std::vector<const ProcessAnswer*> leading_processes(const RunAnswer& run);

// With what usually helps against that cause.
Finding process_finding(const RunAnswer& run, const ProcessAnswer& process, Symptom symptom, Cause cause,
                        double share_pct);

// Counters have no place in time. Where most of it may lie before the first step, where imports collect garbage and wait for
// files, nothing is advised.
void leave_start_up(const ProcessAnswer& process, Finding& finding);

double main_wait_pct(const ProcessAnswer& process, WaitPurpose purpose);

// Ready to run, and not running.
double no_cpu_pct(const ProcessAnswer& process);
// Of that, what its group's quota can have been.
double throttled_pct(const ProcessAnswer& process);
// Without a CPU everything takes long: a lack of it that weighs more comes first, and silences what it explains.
bool is_for_lack_of_cpu(const ProcessAnswer& process, double pct);

// In percent, where something knows what ran on the GPU.
std::optional<double> gpu_idle_pct(const ProcessAnswer& process);

}  // namespace hostprobe::analysis
