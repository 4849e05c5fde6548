// detectors.h: what is looked for in the totals of a run: a function for each row of causes.def, in a file of its name.
//
// Room 3. A row without its file does not link. Nothing is found where too little was measured.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "answer/run.h"

namespace hostprobe::analysis {

// Which of its time a process is asked about.
enum class AskedOf : std::uint8_t {
  kLife,
  kSteps,         // where they are known, else its life
  kCountedSteps,  // the same, but its life where its steps have records
  kItself,        // its life; the detector looks for the steps in it
};

// What a symptom of the whole run leaves beside it.
enum class RunRule : std::uint8_t { kAlone, kBeside };

#define HP_RUN_SYMPTOM(Name, detector, ...) std::optional<Finding> detect_##detector(const RunAnswer& run);
#define HP_SYMPTOM(Name, detector, ...) \
  std::optional<Finding> detect_##detector(const RunAnswer& run, const ProcessAnswer& process);
#include "hostprobe/causes.def"

struct RunDetector {
  std::optional<Finding> (*ask)(const RunAnswer&) = nullptr;
  RunRule rule = RunRule::kBeside;
};

struct Detector {
  Symptom symptom = Symptom::kLostTime;
  std::optional<Finding> (*ask)(const RunAnswer&, const ProcessAnswer&) = nullptr;
  AskedOf of = AskedOf::kLife;
  bool adds = false;  // to findings of the steps
};

// In the order of their rows.
const std::vector<RunDetector>& run_detectors();
const std::vector<Detector>& detectors();

double least_share_pct(Symptom symptom);

}  // namespace hostprobe::analysis
