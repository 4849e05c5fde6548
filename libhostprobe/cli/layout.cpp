// layout.cpp: see layout.h.
#include "layout.h"

#include <filesystem>
#include <stdexcept>

namespace hostprobe::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kProbe[] = "lib/libhostprobe.so";

fs::path installed(const fs::path& below_prefix) {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / below_prefix;
}

std::string existing(const fs::path& below_prefix, const char* what) {
  const fs::path path = installed(below_prefix);
  if (!fs::exists(path)) {
    throw std::runtime_error(std::string("no ") + what + " at " + path.string() +
                             ": build or install all of hostprobe, not the command alone");
  }
  return path.string();
}

}  // namespace

std::string probe_library() { return existing(kProbe, "probe library"); }

std::string place_of_probe_library() { return installed(kProbe).string(); }

std::string simnode_folder() {
  return fs::path(existing("lib/hostprobe/simnode/libcuda.so.1", "simulated GPU driver")).parent_path().string();
}

PythonPackage python_package() {
  if (const fs::path folder = installed("lib/hostprobe/python"); fs::exists(folder / "hostprobe"))
    return {"python3", folder.string()};
  const fs::path own = installed("bin/python3");  // of a virtual environment
  return {fs::exists(own) ? own.string() : "python3", ""};
}

}  // namespace hostprobe::cli
