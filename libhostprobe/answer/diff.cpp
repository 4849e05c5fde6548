// diff.cpp: see diff.h.
#include "diff.h"

namespace hostprobe::analysis {

const char* change_name(Change change) {
  switch (change) {
    case Change::kAppeared:
      return "appeared";
    case Change::kGone:
      return "gone";
    case Change::kGrew:
      return "grew";
    case Change::kShrank:
      return "shrank";
    case Change::kSame:
      return "same";
  }
  return "same";
}

}  // namespace hostprobe::analysis
