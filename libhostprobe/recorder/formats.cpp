// formats.cpp: see formats.h.
#include "formats.h"

#include <event-parse.h>

#include <cstring>

#include "import/ftrace/kernel_event.h"

namespace hostprobe::kernel {
namespace {

Field field_of(const tep_format_field* found) {
  if (found == nullptr) return {};
  return {static_cast<unsigned>(found->offset), static_cast<unsigned>(found->size),
          (found->flags & TEP_FIELD_IS_DYNAMIC) != 0, (found->flags & TEP_FIELD_IS_RELATIVE) != 0};
}

Field field_of(tep_event* event, const char* name) {
  return name == nullptr ? Field{} : field_of(tep_find_any_field(event, name));
}

// One record, whose size bounds all that is read of it.
struct RecordBytes {
  const char* bytes;
  unsigned size;

  bool number(const Field& field, std::uint64_t& value) const {
    if (field.size == 0 || field.size > sizeof(value) || field.offset > size || size - field.offset < field.size)
      return false;
    value = 0;
    std::memcpy(&value, bytes + field.offset, field.size);
    return true;
  }
  std::string_view text(const Field& field) const {
    if (field.size == 0 || field.offset > size || size - field.offset < field.size) return {};
    unsigned begin = field.offset, length = field.size;
    if (field.is_dynamic) {
      std::uint32_t place = 0;
      std::memcpy(&place, bytes + field.offset, sizeof(place));
      begin = (place & 0xffff) + (field.is_relative ? field.offset + field.size : 0);
      length = place >> 16;
    }
    if (begin > size || size - begin < length) return {};
    return {bytes + begin, strnlen(bytes + begin, length)};
  }
};

// common_flags, as the kernel has them (trace_flag_type).
KernelContext context_of(std::uint64_t flags) {
  constexpr std::uint64_t kHardirq = 0x08, kSoftirq = 0x10, kNmi = 0x40;
  if ((flags & kNmi) != 0) return kContextUnknown;
  if ((flags & kHardirq) != 0) return kContextHardirq;
  return (flags & kSoftirq) != 0 ? kContextSoftirq : kContextTask;
}

}  // namespace

Formats::Formats(tep_handle* handle) {
  const char* comm = "comm";
  add(handle, "sched", "sched_switch", {kKernelSwitch, {}, {}, {}, {}, {}}, "next_pid", "prev_state", "prev_comm",
      "next_comm");
  for (const char* wake : {"sched_waking", "sched_wakeup", "sched_wakeup_new"})
    add(handle, "sched", wake, {kKernelWake, {}, {}, {}, {}, {}}, "pid", "target_cpu", nullptr, comm);
  add(handle, "sched", "sched_migrate_task", {kKernelMigrate, {}, {}, {}, {}, {}}, "pid", "dest_cpu", nullptr, comm);
  add(handle, "irq", "irq_handler_entry", {kKernelIrqBegin, {}, {}, {}, {}, {}}, nullptr, "irq", "name", nullptr);
  add(handle, "irq", "irq_handler_exit", {kKernelIrqEnd, {}, {}, {}, {}, {}}, nullptr, "irq", nullptr, nullptr);
  add(handle, "irq", "softirq_entry", {kKernelSoftirqBegin, {}, {}, {}, {}, {}}, nullptr, "vec", nullptr, nullptr);
  add(handle, "irq", "softirq_exit", {kKernelSoftirqEnd, {}, {}, {}, {}, {}}, nullptr, "vec", nullptr, nullptr);
  add(handle, "sched", "sched_process_fork", {kKernelFork, {}, {}, {}, {}, {}}, "child_pid", nullptr, nullptr,
      "child_comm");
  add(handle, "sched", "sched_process_exec", {kKernelExec, {}, {}, {}, {}, {}}, nullptr, nullptr, nullptr, nullptr);
  add(handle, "sched", "sched_process_exit", {kKernelExit, {}, {}, {}, {}, {}}, nullptr, nullptr, comm, nullptr);
}

void Formats::add(tep_handle* handle, const char* system, const char* name, Format format, const char* other,
                  const char* value, const char* own_name, const char* other_name) {
  tep_event* event = tep_find_event_by_name(handle, system, name);
  if (event == nullptr) return;
  type_ = field_of(event, "common_type");
  pid_ = field_of(event, "common_pid");
  flags_ = field_of(event, "common_flags");
  format.tid = format.what == kKernelSwitch ? field_of(event, "prev_pid") : pid_;
  format.other = field_of(event, other);
  format.value = field_of(event, value);
  format.name = field_of(event, own_name);
  format.other_name = field_of(event, other_name);
  format.has_context = std::string_view(name) == "sched_waking";
  if ((other != nullptr && format.other.size == 0) || (value != nullptr && format.value.size == 0)) return;
  formats_[static_cast<std::uint64_t>(event->id)] = format;
}

bool Formats::read(const void* record, unsigned size, std::uint64_t ticks, KernelRow& row,
                   analysis::KernelNameTable& names) const {
  const RecordBytes bytes{static_cast<const char*>(record), size};
  std::uint64_t type = 0, tid = 0, other = 0, value = 0;
  if (!bytes.number(type_, type)) return false;
  const auto found = formats_.find(type);
  if (found == formats_.end()) return false;
  const Format& format = found->second;
  if (!bytes.number(format.tid, tid)) return false;
  if (format.other.size != 0 && !bytes.number(format.other, other)) return false;
  if (format.value.size != 0 && !bytes.number(format.value, value)) return false;
  row = {};
  row.ticks = ticks;
  row.what = format.what;
  row.tid = static_cast<std::uint32_t>(tid);
  row.other = static_cast<std::uint32_t>(other);
  row.value = format.what == kKernelSwitch ? analysis::left_of(value) : static_cast<std::uint32_t>(value);
  if (std::uint64_t flags = 0; format.has_context && bytes.number(flags_, flags)) row.context = context_of(flags);
  if (format.what == kKernelIrqBegin)
    names.add_irq(row.value, bytes.text(format.name));
  else if (format.name.size != 0)
    names.add_task(row.tid, ticks, bytes.text(format.name));
  if (format.other_name.size != 0) names.add_task(row.other, ticks, bytes.text(format.other_name));
  return true;
}

}  // namespace hostprobe::kernel
