// segment_tables.cpp: see segment_tables.h.
#include "probe/writer/file/segment_tables.h"

#include <atomic>

#include "probe/record/chunk.h"
#include "probe/runtime/of_process.h"
#include "probe/stacks/stack_table.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

HP_OF_RECORDING std::uint32_t g_strings_written = 0;
alignas(8) HP_OF_RECORDING bool g_stack_written[kStacks];
HP_OF_RECORDING std::uint32_t g_stacks_written = 0;

}  // namespace

void write_strings() {
  std::uint32_t used = std::atomic_ref(g_segment.header->strings_used).load(std::memory_order_acquire);
  std::uint32_t end = g_strings_written;
  // Up to the first one that is not complete yet.
  while (end < used) {
    auto* head = reinterpret_cast<StringHead*>(g_segment.strings + end);
    std::uint32_t length = std::atomic_ref(head->length).load(std::memory_order_acquire);
    if (length == 0) break;
    end += static_cast<std::uint32_t>(sizeof(StringHead) + (length + 7) / 8 * 8);
  }
  if (end == g_strings_written) return;
  StringsHead head{g_strings_written, end - g_strings_written};
  iovec parts[] = {{&head, sizeof head}, {g_segment.strings + head.offset, head.bytes}};
  if (append_block(kBlockStrings, parts, 2)) g_strings_written = end;
}

void write_stacks() {
  std::uint32_t added = g_stacks_added.load(std::memory_order_acquire);
  if (added == g_stacks_written) return;
  std::uint32_t written = 0;
  for (std::uint32_t i = 0; i < kStacks; ++i) {
    StackEntry& entry = g_segment.stacks[i];
    if (std::atomic_ref(entry.ready).load(std::memory_order_acquire) == 0) continue;
    StacksHead head{i, 1};
    iovec parts[] = {{&head, sizeof head}, {&entry, sizeof entry}};
    if (!g_stack_written[i]) g_stack_written[i] = append_block(kBlockStacks, parts, 2);
    if (g_stack_written[i]) ++written;
  }
  g_stacks_written = written;
}

}  // namespace hostprobe::probe
