// run_folder.h: the folder into which one fuzzer imports. The import makes it again where it was removed.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

inline const std::string& run_folder() {
  static const std::string folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "hostprobe-fuzz-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    return name;
  }();
  return folder;
}
