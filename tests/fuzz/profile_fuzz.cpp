// profile_fuzz.cpp: any bytes are read as a damaged profile. What is JSON reads as the parser of whole profiles reads it; what is not
// makes no event up: each one begins at a bracket of the text, behind the one before it.
#include <cstdlib>
#include <string>
#include <vector>

#include "import/input/text_file.h"
#include "import/kineto/damaged_profile.h"
#include "import/kineto/profile_reader.h"
#include "memory_file.h"

namespace {

using namespace hostprobe::analysis;

struct Heard {
  std::string events, head;
  std::vector<std::uint64_t> places;
  std::size_t documents = 0;
  bool is_whole = true;  // nothing was wrong
  LeftOut left_out;

  OnProfileEvent adding() {
    return [this](const ProfileEvent& event) {
      for (const std::string& text : event.texts) events += text + '|';
      places.push_back(event.at);
    };
  }
  void add(const ProfileReading& reading) {
    ++documents;
    is_whole = is_whole && reading.problem.empty();
    head += reading.head.rank + '|' + reading.head.base_time_ns + '|' + reading.head.host;
  }
};

Heard strictly(const std::string& path) {
  Heard heard;
  heard.add(read_profile(path, heard.adding(), heard.left_out));
  return heard;
}

Heard leniently(const std::string& path) {
  Heard heard;
  const OnProfileEvent add = heard.adding();
  const std::function<void(const ProfileReading&)> on_document = [&](const ProfileReading& reading) {
    heard.add(reading);
  };
  read_damaged_profile(path, {add, heard.left_out, on_document});
  return heard;
}

std::string text_of(const std::string& path) {
  TextFile file(path);
  std::string text;
  while (!file.at_end()) text += file.take();
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file({reinterpret_cast<const char*>(data), size});
  const Heard lenient = leniently(file.path());
  const std::string text = text_of(file.path());
  for (std::size_t i = 0; i < lenient.places.size(); ++i)
    if (text.at(lenient.places[i]) != '{' || (i > 0 && lenient.places[i] <= lenient.places[i - 1])) std::abort();
  const Heard strict = strictly(file.path());
  const bool is_same =
      strict.events == lenient.events && strict.head == lenient.head && strict.places == lenient.places;
  if (strict.is_whole && lenient.is_whole && lenient.left_out.kinds().empty() && !is_same) std::abort();
  return 0;
}
