// detectors.cpp: see detectors.h.
#include "detectors.h"

namespace hostprobe::analysis {

const std::vector<RunDetector>& run_detectors() {
  static const std::vector<RunDetector> kAll = {
#define HP_RUN_SYMPTOM(Name, detector, rule) {detect_##detector, RunRule::rule},
#include "hostprobe/causes.def"
  };
  return kAll;
}

const std::vector<Detector>& detectors() {
  static const std::vector<Detector> kAll = {
#define HP_SYMPTOM(Name, detector, least_pct, of, adds) {Symptom::k##Name, detect_##detector, AskedOf::of, adds},
#include "hostprobe/causes.def"
  };
  return kAll;
}

double least_share_pct(Symptom symptom) {
  switch (symptom) {
#define HP_SYMPTOM(Name, detector, least_pct, ...) \
  case Symptom::k##Name:                           \
    return least_pct;
#include "hostprobe/causes.def"
    default:
      return 0;
  }
}

}  // namespace hostprobe::analysis
