// replay.cpp: runs every file of the given folders, and mutations of each, through the fuzz target. Deterministic.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kMutations = 400;

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

std::string mutated(std::string bytes, std::mt19937& random) {
  const std::size_t count = 1 + random() % 8;
  for (std::size_t i = 0; i < count && !bytes.empty(); ++i) {
    const std::size_t at = random() % bytes.size();
    switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        break;
      case 2:
        bytes.erase(at, random() % 64);
        break;
      case 3:
        bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 256));
        break;
      default:
        bytes.replace(at, std::min<std::size_t>(8, bytes.size() - at), std::min<std::size_t>(8, bytes.size() - at),
                      '\xff');
        break;
    }
  }
  return bytes;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fputs("replay: no corpus found\n", stderr);
    return 1;
  }
  std::mt19937 random(1);
  for (const auto& path : files) {
    const std::string bytes = read_file(path);
    run(bytes);
    for (int i = 0; i < kMutations; ++i) run(mutated(bytes, random));
  }
  std::printf("%zu files, %zu inputs\n", files.size(), files.size() * (kMutations + 1));
  return 0;
}
