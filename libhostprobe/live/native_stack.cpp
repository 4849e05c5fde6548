// native_stack.cpp: see native_stack.h.
#include "native_stack.h"

#include <libunwind-ptrace.h>

#include <algorithm>
#include <cstring>

#include "memory_pages.h"

namespace hostprobe::analysis {
namespace {

constexpr std::size_t kMostStackBytes = 256 * 1024;
constexpr std::size_t kMostFrames = 256;

// What libunwind asks about one stack. It hands us its own argument in some calls and ours in others, so this is found by
// the thread that asks.
struct Walk {
  const StackCopy& copy;
  void* tables;        // of libunwind-ptrace
  MemoryPages& pages;  // outside of the copied stack
  bool lacks_register = false;
};
thread_local Walk* t_walk = nullptr;

int find_proc_info(unw_addr_space_t space, unw_word_t address, unw_proc_info_t* info, int need, void*) {
  return _UPT_find_proc_info(space, address, info, need, t_walk->tables);
}

void put_unwind_info(unw_addr_space_t space, unw_proc_info_t* info, void*) {
  _UPT_put_unwind_info(space, info, t_walk->tables);
}

int no_dynamic_code(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

bool read_byte_range(std::uint64_t from, void* to, std::size_t bytes) {
  Walk& walk = *t_walk;
  if (from >= walk.copy.begin && from + bytes <= walk.copy.begin + walk.copy.bytes.size()) {
    std::memcpy(to, walk.copy.bytes.data() + (from - walk.copy.begin), bytes);
    return true;
  }
  return walk.pages.copy(to, from, bytes);
}

int access_memory(unw_addr_space_t, unw_word_t address, unw_word_t* value, int write, void*) {
  if (write != 0 || !read_byte_range(address, value, sizeof *value)) return -UNW_EINVAL;
  return 0;
}

int access_register(unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void*) {
  if (!t_walk->copy.has_all_registers && !is_known_asleep(number)) {
    t_walk->lacks_register = true;
    return -UNW_EBADREG;
  }
  return write == 0 && unwind_register(t_walk->copy.registers, number, *value) ? 0 : -UNW_EBADREG;
}

int no_floats(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EBADREG; }
int no_resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
int no_names(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_ENOINFO; }

unw_accessors_t accessors() {
  unw_accessors_t all{};
  all.find_proc_info = find_proc_info;
  all.put_unwind_info = put_unwind_info;
  all.get_dyn_info_list_addr = no_dynamic_code;
  all.access_mem = access_memory;
  all.access_reg = access_register;
  all.access_fpreg = no_floats;
  all.resume = no_resume;
  all.get_proc_name = no_names;
  return all;
}

// Made before a thread is stopped for it.
std::vector<std::byte>& copy_room() {
  static thread_local std::vector<std::byte> room(kMostStackBytes);
  return room;
}

}  // namespace

void StackCopy::take(const ProcessMemory& memory, const user_regs_struct& now) {
  registers = now;
  begin = stack_pointer_of(now) - kRedZoneBytes;
  std::vector<std::byte>& room = copy_room();
  const std::size_t there = memory.copy_some(room.data(), begin, room.size());
  bytes.assign(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(there));
}

struct NativeWalk::Space {
  explicit Space(pid_t pid) : pages(pid), calls(accessors()) {}
  MemoryPages pages;  // of tables, which nobody changes
  unw_accessors_t calls;
  unw_addr_space_t space = nullptr;
  void* tables = nullptr;
};

NativeWalk::NativeWalk(pid_t pid) : space_(new Space(pid)) {
  space_->space = unw_create_addr_space(&space_->calls, 0);
  space_->tables = _UPT_create(pid);
  copy_room();
  if (space_->space != nullptr) unw_set_caching_policy(space_->space, UNW_CACHE_GLOBAL);
}

NativeWalk::~NativeWalk() {
  if (space_->tables != nullptr) _UPT_destroy(space_->tables);
  if (space_->space != nullptr) unw_destroy_addr_space(space_->space);
  delete space_;
}

std::vector<NativeFrame> NativeWalk::frames(const StackCopy& copy) {
  std::vector<NativeFrame> frames{{pc_of(copy.registers), false}};
  if (space_->space == nullptr || space_->tables == nullptr) return frames;
  Walk walk{copy, space_->tables, space_->pages};
  t_walk = &walk;
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space_->space, space_->tables) == 0) {
    bool interrupted = unw_is_signal_frame(&cursor) > 0;
    while (frames.size() < kMostFrames && unw_step(&cursor) > 0) {
      unw_word_t address = 0;
      if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) break;
      frames.push_back({address, !interrupted});
      interrupted = unw_is_signal_frame(&cursor) > 0;
    }
  }
  t_walk = nullptr;
  lacked_register_ = walk.lacks_register;
  return frames;
}

}  // namespace hostprobe::analysis
