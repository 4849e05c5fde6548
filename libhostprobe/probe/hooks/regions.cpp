// regions.cpp: see regions.h. A region is one record, made as it ends: what began it is remembered by whoever asked.
#include "probe/hooks/regions.h"

#include <string.h>

#include <bit>

#include "probe/record/hook.h"
#include "probe/record/strings.h"

HP_RANGE_ROW(kRowRange, kRange, hostprobe_region, "name:str", "category:str", "site:code", "", "")
HP_RANGE_ROW(kRowMark, kMark, hostprobe_mark, "name:str", "value:real", "site:code", "", "")

namespace hostprobe::probe {
namespace {

bool record(const Hook& hook, const char* name, std::uint64_t begin, std::uint64_t end, std::uint64_t value,
            const void* site) {
  return write_record(hook, begin, end, string_id(name, strlen(name)), value, reinterpret_cast<std::uint64_t>(site));
}

}  // namespace

std::uint64_t begin_region() { return recording_or_begun(Moment::kGpu) ? ticks() : 0; }

bool end_region(const char* name, std::uint64_t begun, const void* site) {
  if (begun == 0 || name == nullptr || !recording_or_begun(Moment::kGpu)) return false;
  mark_used(g_hook_hostprobe_region);
  return record(g_hook_hostprobe_region, name, begun, ticks(), 0, site);
}

bool note_mark(const char* name, double value, const void* site) {
  if (name == nullptr || !recording_or_begun(Moment::kGpu)) return false;
  mark_used(g_hook_hostprobe_mark);
  std::uint64_t now = ticks();
  return record(g_hook_hostprobe_mark, name, now, now, std::bit_cast<std::uint64_t>(value), site);
}

}  // namespace hostprobe::probe
