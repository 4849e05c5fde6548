// process_finding.h: a finding of one process, before its evidence, and the shares of its life by which detectors weigh it.
//
// Room 3.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

// What most samples of a thread were in while it ran, in whatever call: a place in Python, or where it runs none a function. "": there are too
// few, or nothing has half of them for sure.
std::string usual_place(const ProcessAnswer& process, std::uint32_t tid);
// In which function of Python most of its collections' time begins; as above.
std::string collecting_place(const ProcessAnswer& process);

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
