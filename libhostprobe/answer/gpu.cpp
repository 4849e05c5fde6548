// gpu.cpp: see gpu.h.
#include "gpu.h"

namespace hostprobe::analysis {

const char* activity_source_name(ActivitySource source) {
  switch (source) {
    case ActivitySource::kEvents:
      return "events";
    case ActivitySource::kBounds:
      return "bounds";
    case ActivitySource::kAccount:
      return "account";
    default:
      return "profile";
  }
}

}  // namespace hostprobe::analysis
