// file_bytes.h: how much there is to read, for progress.
//
// Room 3.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

namespace hostprobe::analysis {

// 0 where it cannot be told.
inline std::uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

}  // namespace hostprobe::analysis
