// modules.cpp: see modules.h. The loader's list is read without its lock, by copies that may fail: at the end of a process
// the exiting thread may hold that lock, and in a forked child a thread that does not exist. Where the kernel does not copy
// (a seccomp filter), dl_iterate_phdr is asked; rows are collected during its walk and written after it: it holds the lock,
// and a write may take long.
#include "probe/writer/file/modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <atomic>

#include "probe/intercept/loader.h"
#include "probe/intercept/resolve.h"
#include "probe/runtime/clock.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/safe_memory.h"
#include "probe/runtime/start_objects.h"
#include "probe/writer/file/trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::size_t kBufferBytes = 128 * 1024;  // for a thousand objects
constexpr unsigned kSeen = 4096;
// Rows of objects, those that are in the file first. A forked child writes its parent's into its own file: what it inherits
// is mapped at the same places, and it need not walk the loader's list.
alignas(8) HP_KEPT_BY_CHILDREN char g_rows[kBufferBytes];
HP_KEPT_BY_CHILDREN std::size_t g_rows_end = 0;
HP_KEPT_BY_CHILDREN std::size_t g_rows_written = 0;
HP_KEPT_BY_CHILDREN bool g_rows_dropped = false;         // the buffer has been full: it does not hold all of them
HP_KEPT_BY_CHILDREN std::atomic<bool> g_walking{false};  // a fork now leaves the child half a walk
HP_KEPT_BY_CHILDREN std::uint64_t g_seen[kSeen];         // hashes of (begin, path) of the rows
HP_KEPT_BY_CHILDREN unsigned long long g_changes = 0;

struct Walk {
  std::uint64_t now;
  bool full;
};

std::uint64_t hash_of(std::uint64_t begin, const char* path) {
  std::uint64_t h = begin * 0x9e3779b97f4a7c15u + 1;
  for (; *path != 0; ++path) h = (h ^ static_cast<unsigned char>(*path)) * 0x100000001b3u;
  return h == 0 ? 1 : h;
}

// Slot of the hash, or the free slot where it belongs; nullptr when the table is full.
std::uint64_t* slot_of(std::uint64_t hash) {
  for (unsigned i = 0; i < kSeen; ++i) {
    std::uint64_t* slot = &g_seen[(hash + i) % kSeen];
    if (*slot == hash || *slot == 0) return slot;
  }
  return nullptr;
}

constexpr std::size_t kMostNoteBytes = 512;

void find_build_id(const char* at, std::size_t bytes, ModuleRow& row) {
  for (const char* end = at + bytes; at + sizeof(ElfW(Nhdr)) <= end;) {
    auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    const char* name = at + sizeof *note;
    const char* content = name + (note->n_namesz + 3) / 4 * 4;
    if (content > end || note->n_descsz > static_cast<std::size_t>(end - content)) return;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
        note->n_descsz <= sizeof row.build_id) {
      row.build_id_bytes = note->n_descsz;
      memcpy(row.build_id, content, note->n_descsz);
      return;
    }
    at = content + (note->n_descsz + 3) / 4 * 4;
  }
}

void read_build_id(const dl_phdr_info& object, ModuleRow& row) {
  alignas(8) char notes[kMostNoteBytes];
  const Memory memory;
  for (int i = 0; i < object.dlpi_phnum && row.build_id_bytes == 0; ++i) {
    const auto& p = object.dlpi_phdr[i];
    if (p.p_type != PT_NOTE) continue;
    const std::size_t bytes = p.p_memsz < sizeof notes ? p.p_memsz : sizeof notes;
    if (memory.copy(notes, object.dlpi_addr + p.p_vaddr, bytes)) find_build_id(notes, bytes, row);
  }
}

ModuleRow row_of(const dl_phdr_info& object, std::uint64_t now) {
  ModuleRow row{};
  row.begin = ~std::uint64_t{0};
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& p = object.dlpi_phdr[i];
    if (p.p_type != PT_LOAD) continue;
    std::uint64_t begin = object.dlpi_addr + p.p_vaddr, end = begin + p.p_memsz;
    if (begin < row.begin) row.begin = begin;
    if (end > row.end) row.end = end;
  }
  row.bias = object.dlpi_addr;
  row.seen_ticks = now;
  return row;
}

// False: the buffer is full, the row comes later.
bool add_row(const dl_phdr_info& object, Walk& walk) {
  const char* path = object.dlpi_name != nullptr && object.dlpi_name[0] != 0 ? object.dlpi_name : g_header.program;
  ModuleRow row = row_of(object, walk.now);
  if (row.begin >= row.end) return true;
  std::uint64_t* seen = slot_of(hash_of(row.begin, path));
  if (seen == nullptr || *seen != 0) return true;
  std::size_t length = strnlen(path, 1024), padded = (length + 7) / 8 * 8;
  if (g_rows_end + sizeof row + padded > kBufferBytes) {
    walk.full = true;
    return false;
  }
  row.path_bytes = static_cast<std::uint32_t>(length);
  read_build_id(object, row);
  char* place = g_rows + g_rows_end;
  memcpy(place, &row, sizeof row);
  memset(place + sizeof row, 0, padded);
  memcpy(place + sizeof row, path, length);
  g_rows_end += sizeof row + padded;
  *seen = hash_of(row.begin, path);
  return true;
}

int collect(dl_phdr_info* object, size_t, void* argument) {
  return add_row(*object, *static_cast<Walk*>(argument)) ? 0 : 1;
}

// One object of the list, copied.
constexpr std::size_t kMostHeaders = 32;
struct Copied {
  link_map map;
  char path[1032];
  ElfW(Phdr) headers[kMostHeaders];
};

bool copy_path(const Memory& memory, Copied& out) {
  const auto from = reinterpret_cast<std::uint64_t>(out.map.l_name);
  const std::size_t most = sizeof out.path - 1, in_page = bytes_to_read(from, 1, most);
  memset(out.path, 0, sizeof out.path);
  if (!memory.copy(out.path, from, in_page)) return false;
  if (memchr(out.path, 0, in_page) == nullptr && in_page < most)
    memory.copy(out.path + in_page, from + in_page, bytes_to_read(from + in_page, 1, most - in_page));
  return true;
}

// The program's headers are where the kernel says; those of others follow the ELF header, with which they are mapped.
bool copy_headers(const Memory& memory, Copied& out, dl_phdr_info& info) {
  std::uint64_t from = getauxval(AT_PHDR), count = getauxval(AT_PHNUM);
  if (out.map.l_prev != nullptr) {
    ElfW(Ehdr) head;
    if (!memory.copy(&head, out.map.l_addr, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return false;
    from = out.map.l_addr + head.e_phoff;
    count = head.e_phnum;
  }
  if (count > kMostHeaders) count = kMostHeaders;
  info.dlpi_addr = out.map.l_addr;
  info.dlpi_name = out.path;
  info.dlpi_phdr = out.headers;
  info.dlpi_phnum = static_cast<ElfW(Half)>(count);
  return memory.copy(out.headers, from, count * sizeof out.headers[0]);
}

enum class Read { kAll, kTorn, kRefused };

// Each object must name the one before it, or the list has changed under us. What was collected until then is right.
Read read_list(Walk& walk) {
  HP_KEPT_BY_CHILDREN static Copied g_copied;
  const Memory memory;
  const link_map* before = nullptr;
  for (const link_map* at = first_object(); at != nullptr && !walk.full; at = g_copied.map.l_next) {
    if (!memory.copy(&g_copied.map, reinterpret_cast<std::uint64_t>(at), sizeof g_copied.map))
      return before == nullptr ? Read::kRefused : Read::kTorn;
    if (g_copied.map.l_prev != before || !copy_path(memory, g_copied)) return Read::kTorn;
    dl_phdr_info info{};
    if (copy_headers(memory, g_copied, info)) add_row(info, walk);
    before = at;
  }
  return Read::kAll;
}

// False: not all of it could be read; it is tried again.
bool collect_rows(Walk& walk, bool last) {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    Read read = read_list(walk);
    if (read == Read::kAll) return true;
    if (read == Read::kTorn) continue;
    if (last) return false;
    LoaderVisit visit;
    if (visit) each_object(collect, &walk);
    return static_cast<bool>(visit);
  }
  return false;
}

// False: the file does not take them now, which is tried again.
bool write_rows() {
  if (g_rows_written == g_rows_end) return true;
  iovec part{g_rows + g_rows_written, g_rows_end - g_rows_written};
  if (!append_block(kBlockModules, &part, 1)) return false;
  g_rows_written = g_rows_end;
  return true;
}

void drop_rows() {
  g_rows_dropped = true;
  g_rows_end = g_rows_written = 0;
}

}  // namespace

bool modules_changed() { return !load_count_is_known() || load_count() != g_changes; }

void write_new_modules(bool last) {
  if (!write_rows() || !modules_changed()) return;
  const unsigned long long changes = load_count_is_known() ? load_count() : 0;
  Walk walk{ticks(), true};
  bool complete = true;
  while (walk.full) {
    walk.full = false;
    g_walking.store(true, std::memory_order_relaxed);
    complete = collect_rows(walk, last);
    g_walking.store(false, std::memory_order_release);
    if (!write_rows()) return;
    if (walk.full) drop_rows();
  }
  if (complete) g_changes = changes;
}

void begin_modules() {
  g_rows_written = 0;
  if (!g_rows_dropped && !g_walking.load(std::memory_order_acquire)) return;
  memset(g_seen, 0, sizeof g_seen);
  g_rows_end = 0;
  g_changes = 0;
  g_rows_dropped = false;
  g_walking.store(false, std::memory_order_relaxed);
}

}  // namespace hostprobe::probe
