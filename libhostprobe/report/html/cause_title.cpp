// cause_title.cpp: see cause_title.h.
#include "cause_title.h"

#include "amount.h"
#include "member.h"

namespace hostprobe::analysis {
namespace {

struct CauseTitle {
  const char *id, *title;
};
constexpr CauseTitle kCauseTitles[] = {
#define HP_CAUSE(Name, id, title, ...) {#id, title},
#include "hostprobe/causes.def"
};

bool uses_gpu(const JsonValue& document) {
  for (const JsonValue& process : list_in(document, "processes"))
    for (const char* path : {"launches.count", "syncs.count", "gpu.kernels"})
      if (number_in(process, path).value_or(0) > 0) return true;
  return false;
}

}  // namespace

std::string cause_title_in(const JsonValue& document, const std::string& cause) {
  if (cause == "gpu_bound" && !uses_gpu(document)) return "Compute";
  for (const CauseTitle& one : kCauseTitles)
    if (cause == one.id) return one.title;
  return spaced(cause);
}

}  // namespace hostprobe::analysis
