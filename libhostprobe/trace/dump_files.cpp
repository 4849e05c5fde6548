// dump_files.cpp: see dump_files.h.
#include "dump_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "blocks.h"

namespace hostprobe::analysis {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// "…/h-1-1.hptrace" has its dumps in "…/h-1-1-0001.hpdump" and so on; by number.
std::vector<std::filesystem::path> dump_paths(const std::filesystem::path& trace) {
  std::vector<std::filesystem::path> paths;
  if (trace.extension() != kFileSuffix) return paths;
  const std::string stem = trace.stem().string() + "-";
  std::error_code error;
  const std::filesystem::path folder = trace.has_parent_path() ? trace.parent_path() : ".";
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    const std::string name = at->path().stem().string();
    if (is_dump_path(at->path().native()) && name.starts_with(stem) &&
        is_number(std::string_view(name).substr(stem.size())))
      paths.push_back(at->path());
  }
  const auto order = [](const std::filesystem::path& path) { return std::pair(path.native().size(), path.native()); };
  std::sort(paths.begin(), paths.end(), [&](const auto& l, const auto& r) { return order(l) < order(r); });
  return paths;
}

// Why the file is no dump of that process; "" = it is.
std::string refusal(const MappedFile& file, const FileHeader& trace) {
  FileHeader header;
  std::memcpy(&header, file.bytes(), sizeof(header));
  if (header.magic != kFileMagic) return "no dump of hostprobe's";
  if (!header_is_whole(file.bytes())) return "the header's checksum does not match";
  if (header.version > kFileVersion) return "written in a newer format";
  if (header.cookie != trace.cookie) return "of another process";
  return {};
}

// Tables are the trace's own, and newer there.
bool is_of_dumps(BlockKind kind) {
  return kind == kBlockRecords || kind == kBlockPackedRecords || kind == kBlockSwitches || kind == kBlockSamples ||
         kind == kBlockFrequency || kind == kBlockMachine;
}

void add_blocks(const MappedFile& file, const std::string& name, Trace& trace, DumpDamages& damages) {
  FileHeader header;
  std::memcpy(&header, file.bytes(), sizeof(header));
  BlockWalk walk(file, std::max<std::uint64_t>(header.header_bytes, kFileHeaderBytes));
  BlockContent content(trace);
  Block block;
  while (walk.next(block)) {
    if (!is_of_dumps(block.kind)) continue;
    if (!content.add(block))
      damages.lasting.push_back({block.offset, block.bytes, name + ": a block whose content makes no sense"});
  }
  for (Damage& damage : walk.damages()) {
    damage.what = name + ": " + damage.what;
    const bool tail = walk.cut_short() && damage.offset + damage.bytes == file.size();
    (tail ? damages.tails : damages.lasting).push_back(std::move(damage));
  }
}

void add_dump(const std::filesystem::path& path, Trace& trace, DumpDamages& damages) {
  const std::string name = "in its dump " + path.filename().string();
  auto file = std::make_unique<MappedFile>(path.string());
  if (file->size() < kFileHeaderBytes) {
    damages.tails.push_back({0, file->size(), name + ": it ends inside its header"});
    return;
  }
  if (const std::string why = refusal(*file, trace.header); !why.empty()) {
    damages.lasting.push_back({0, file->size(), name + ": " + why});
    return;
  }
  add_blocks(*file, name, trace, damages);
  trace.dumps.push_back(std::move(file));
}

}  // namespace

bool is_dump_path(std::string_view path) { return path.ends_with(kDumpSuffix); }

DumpDamages add_dumps(Trace& trace) {
  DumpDamages damages;
  for (const std::filesystem::path& path : dump_paths(trace.path)) {
    try {
      add_dump(path, trace, damages);
    } catch (const std::system_error& error) {
      // One that had to go for the disk quota just now is told by an event.
      if (error.code().value() == ENOENT) continue;
      damages.lasting.push_back({0, 0, "in its dump " + path.filename().string() + ": " + error.what()});
    }
  }
  return damages;
}

}  // namespace hostprobe::analysis
