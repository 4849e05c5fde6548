// modules.cpp: see modules.h. Rows are collected during the walk of the loader's list and written after it: the walk holds
// a lock of the loader, and a write may take long.
#include "modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "clock.h"
#include "trace_file.h"

namespace hostprobe::probe {
namespace {

constexpr std::size_t kBufferBytes = 64 * 1024;
constexpr unsigned kSeen = 4096;
alignas(8) char g_buffer[kBufferBytes];
std::uint64_t g_seen[kSeen];  // hashes of (begin, path) of rows in the file
unsigned long long g_changes = 0;

struct Walk {
  std::size_t used;
  std::uint64_t now;
  unsigned long long changes;
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

void read_build_id(const dl_phdr_info& object, ModuleRow& row) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const auto& p = object.dlpi_phdr[i];
    if (p.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(object.dlpi_addr + p.p_vaddr);
    const char* end = at + p.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof *note;
      const char* content = name + (note->n_namesz + 3) / 4 * 4;
      if (content + note->n_descsz > end) return;
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0 &&
          note->n_descsz <= sizeof row.build_id) {
        row.build_id_bytes = note->n_descsz;
        memcpy(row.build_id, content, note->n_descsz);
        return;
      }
      at = content + (note->n_descsz + 3) / 4 * 4;
    }
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

int collect(dl_phdr_info* object, size_t, void* argument) {
  auto* walk = static_cast<Walk*>(argument);
  walk->changes = object->dlpi_adds + object->dlpi_subs;
  const char* path = object->dlpi_name != nullptr && object->dlpi_name[0] != 0 ? object->dlpi_name : g_header.program;
  ModuleRow row = row_of(*object, walk->now);
  if (row.begin >= row.end) return 0;
  std::uint64_t* seen = slot_of(hash_of(row.begin, path));
  if (seen == nullptr || *seen != 0) return 0;
  std::size_t length = strnlen(path, 1024), padded = (length + 7) / 8 * 8;
  if (walk->used + sizeof row + padded > kBufferBytes) {
    walk->full = true;
    return 1;
  }
  row.path_bytes = static_cast<std::uint32_t>(length);
  read_build_id(*object, row);
  memcpy(g_buffer + walk->used, &row, sizeof row);
  memset(g_buffer + walk->used + sizeof row, 0, padded);
  memcpy(g_buffer + walk->used + sizeof row, path, length);
  walk->used += sizeof row + padded;
  *seen = hash_of(row.begin, path);
  return 0;
}

int read_changes(dl_phdr_info* object, size_t, void* argument) {
  *static_cast<unsigned long long*>(argument) = object->dlpi_adds + object->dlpi_subs;
  return 1;
}

}  // namespace

bool modules_changed() {
  unsigned long long changes = 0;
  dl_iterate_phdr(read_changes, &changes);
  return changes != g_changes;
}

void write_new_modules() {
  if (!modules_changed()) return;
  Walk walk{0, ticks(), 0, true};
  while (walk.full) {
    walk.used = 0;
    walk.full = false;
    dl_iterate_phdr(collect, &walk);
    iovec part{g_buffer, walk.used};
    if (walk.used != 0 && !append_block(kBlockModules, &part, 1)) {
      forget_modules();  // tried again when the file takes blocks again
      return;
    }
  }
  g_changes = walk.changes;
}

void forget_modules() {
  memset(g_seen, 0, sizeof g_seen);
  g_changes = 0;
}

}  // namespace hostprobe::probe
