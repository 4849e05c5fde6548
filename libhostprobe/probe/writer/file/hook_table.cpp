// hook_table.cpp: see hook_table.h.
#include "probe/writer/file/hook_table.h"

#include <string.h>

#include "probe/record/hook_row.h"
#include "probe/runtime/of_process.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMostStates = 1024;
HP_OF_PROCESS unsigned char g_states[kMostStates];  // as they were last written
HP_OF_PROCESS bool g_states_written = false;

// A row without version and wrapper names what another hook does, so it is there whenever that one is.
unsigned char state_of(const Hook& hook) {
  bool named_only = hook.wrapper == nullptr && hook.row->versions[0] == 0;
  bool found = hook.target[0] != nullptr || named_only;
  return static_cast<unsigned char>((found ? kHookFound : 0) | (hook.used != 0 ? kHookUsed : 0));
}

}  // namespace

bool write_hook_table() {
  if (g_file.names_hooks) return true;
  iovec part{const_cast<HookRow*>(__start_hp_hooks), hook_count() * sizeof(HookRow)};
  g_file.names_hooks = append_block(kBlockHooks, &part, 1);
  return g_file.names_hooks;
}

void write_hook_states() {
  alignas(8) unsigned char states[kMostStates] = {};
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->number <= kMostStates) states[hook->number - 1] = state_of(*hook);
  if (g_states_written && memcmp(states, g_states, sizeof states) == 0) return;
  iovec part{states, (hook_count() + 7u) & ~7u};
  if (part.iov_len > sizeof states) part.iov_len = sizeof states;
  g_states_written = append_block(kBlockHookStates, &part, 1);
  memcpy(g_states, states, sizeof states);
}

}  // namespace hostprobe::probe
