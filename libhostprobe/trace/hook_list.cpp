// hook_list.cpp: see hook_list.h.
#include "hook_list.h"

#include <gelf.h>

#include "call_names.h"
#include "elf_file.h"

namespace hostprobe::analysis {
namespace {

std::string text_of(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

Label parse_label(const std::string& text) {
  static constexpr std::pair<const char*, Form> kForms[] = {
      {"i", Form::kSigned},    {"hex", Form::kHex},   {"code", Form::kCode},       {"str", Form::kString},
      {"dim", Form::kDim},     {"post", Form::kPost}, {"us", Form::kMicroseconds}, {"nccl", Form::kNcclCall},
      {"ranks", Form::kRanks}, {"real", Form::kReal}};
  const auto colon = text.find(':');
  Label label{text.substr(0, colon), Form::kDecimal};
  if (colon == std::string::npos) return label;
  for (const auto& [name, form] : kForms) {
    if (text.compare(colon + 1, std::string::npos, name) == 0) label.form = form;
  }
  return label;
}

Elf_Data* section_data(Elf* elf, const char* name) {
  std::size_t names = 0;
  if (elf == nullptr || elf_getshdrstrndx(elf, &names) != 0) return nullptr;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    const char* found = elf_strptr(elf, names, header.sh_name);
    if (found != nullptr && std::string_view(found) == name) return elf_getdata(section, nullptr);
  }
  return nullptr;
}

}  // namespace

Hook parse_hook(const HookRow& row) {
  Hook hook;
  hook.name = text_of(row.name, sizeof(row.name));
  hook.versions = text_of(row.versions, sizeof(row.versions));
  for (int i = 0; i < 5; ++i) hook.labels[i] = parse_label(text_of(row.labels[i], sizeof(row.labels[i])));
  hook.family = row.family;
  hook.found = row.found != 0;
  hook.blocking = row.blocking != 0;
  hook.launch = row.launch != 0;
  hook.type = row.type;
  const bool says = static_cast<HookRole>(row.role) != HookRole::kUnsaid;
  hook.role = says ? static_cast<HookRole>(row.role) : role_by_name(hook);
  hook.traits = says ? row.traits : traits_by_name(hook);
  return hook;
}

const char* family_name(std::uint8_t family) {
  static constexpr const char* kNames[] = {"cuda", "nccl", "wait", "wake", "thread", "io", "python", "gpu", "range"};
  return family < std::size(kNames) ? kNames[family] : "unknown";
}

std::vector<Hook> hooks_of_library(const std::string& path) {
  const ElfFile file(path);
  const Elf_Data* data = section_data(file.get(), kHookSection);
  if (data == nullptr || data->d_buf == nullptr || data->d_size % sizeof(HookRow) != 0) {
    throw TraceError(path + " holds no hook table: it is not this version's libhostprobe.so", 0);
  }
  std::vector<Hook> hooks;
  for (std::size_t at = 0; at < data->d_size; at += sizeof(HookRow)) {
    HookRow row;
    std::memcpy(&row, static_cast<const char*>(data->d_buf) + at, sizeof(row));
    hooks.push_back(parse_hook(row));
  }
  return hooks;
}

}  // namespace hostprobe::analysis
