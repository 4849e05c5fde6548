// formats.h: a record of the kernel's ring buffer becomes a row, by the descriptions that the kernel gives of its events.
//
// Room kernel/. Never by fixed offsets: they differ between kernels.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "import/ftrace/kernel_table.h"

struct tep_event;
struct tep_format_field;
struct tep_handle;

namespace hostprobe::kernel {

// Of a field: where it lies; size 0: the event has none.
struct Field {
  unsigned offset = 0, size = 0;
  bool is_dynamic = false;   // 32 bits that say where
  bool is_relative = false;  // from behind them
};

struct Format {
  KernelWhat what = kKernelSwitch;
  Field tid, other, value, name, other_name;
  bool has_context = false;  // it is written where the code runs that it tells of
};

class Formats {
 public:
  // Looks for the events that a KernelRow can tell of; `handle` must outlive it.
  explicit Formats(tep_handle* handle);
  bool empty() const { return formats_.empty(); }

  // False: the record is of another event, or too short. Names go to `names`, with `ticks` as the time since when.
  bool read(const void* record, unsigned size, std::uint64_t ticks, KernelRow& row,
            analysis::KernelNameTable& names) const;

 private:
  void add(tep_handle* handle, const char* system, const char* event, Format format, const char* other,
           const char* value, const char* name, const char* other_name);

  std::unordered_map<std::uint64_t, Format> formats_;  // by id
  Field type_, pid_, flags_;
};

}  // namespace hostprobe::kernel
