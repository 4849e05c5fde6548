// trial_text.h: the line in which the trial of a fix stands in an event (kEventFix), written by the probe and read by the analysis.
//
// Room 1 (format/). "auto: gc kept: 8+8 windows, 12.3456 -> 11.9001 ms, 3.61 % (2.10 to 4.50)": fix, verdict, windows without and with
// it, medians of a step in them, and how much shorter a step is with it, with its interval, in percent of the step.
#pragma once

namespace hostprobe {

inline constexpr char kTrialPrint[] = "auto: %s %s: %u+%u windows, %.6g -> %.6g ms, %.2f %% (%.2f to %.2f)";
inline constexpr char kTrialScan[] = "auto: %31s %15[a-z]: %u+%u windows, %lf -> %lf ms, %lf %% (%lf to %lf)";
inline constexpr unsigned kTrialLeastPairs = 8;  // fewer have no interval

}  // namespace hostprobe
