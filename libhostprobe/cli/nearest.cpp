// nearest.cpp: see nearest.h.
#include "nearest.h"

#include <limits>

#include "settings/edit_distance.h"

namespace hostprobe::cli {

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  unsigned least = std::numeric_limits<unsigned>::max();
  for (const std::string& each : names) {
    std::vector<unsigned> row(each.size() + 1);
    const unsigned letters = edit_distance(name.data(), name.size(), each.data(), each.size(), row.data());
    if (letters < least && is_slip(letters, name.size(), each.size())) {
      least = letters;
      best = each;
    }
  }
  return best;
}

std::string suggestion(const std::string& name, const std::vector<std::string>& names) {
  const std::string near = nearest(name, names);
  return near.empty() ? "" : "; the nearest is " + near;
}

}  // namespace hostprobe::cli
