// activity_rows.h: what ran on the simulated devices of a process, as its file tells it (format/activity_file.h).
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "format/activity_file.h"

namespace hostprobe::test {

inline std::vector<ActivityRow> activity_rows(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(in)), {});
  ActivityHead head{};
  if (bytes.size() < sizeof head) return {};
  std::memcpy(&head, bytes.data(), sizeof head);
  std::vector<ActivityRow> rows;
  for (std::uint64_t at = 0; at < head.rows; ++at) {
    ActivityRow row;
    std::memcpy(&row, bytes.data() + head.head_bytes + at * sizeof row, sizeof row);
    if (row.type == kActivityName)
      at += (row.bytes + sizeof row - 1) / sizeof row;
    else
      rows.push_back(row);
  }
  return rows;
}

inline std::vector<std::filesystem::path> activity_files(const std::filesystem::path& run_folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(run_folder))
    if (entry.path().extension() == kActivitySuffix) files.push_back(entry.path());
  return files;
}

}  // namespace hostprobe::test
