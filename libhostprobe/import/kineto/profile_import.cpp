// profile_import.cpp: see profile_import.h.
#include "profile_import.h"

#include <optional>

#include "damaged_profile.h"
#include "profile.h"
#include "profile_reader.h"
#include "profile_trace.h"

namespace hostprobe::analysis {
namespace {

// One document's events, until they are written.
struct Document {
  LeftOut left_out;
  Profile profile{left_out};

  OnProfileEvent adding() {
    return [this](const ProfileEvent& event) { profile.add(event); };
  }
};

std::optional<ProfileReading> read_halves(const std::string& path, const ReadProgress& progress, Document& document) {
  Document later;
  const OnProfileEvent add = document.adding(), add_later = later.adding();
  auto reading = read_profile_halves(path, {add, document.left_out}, {add_later, later.left_out}, progress);
  if (reading) document.profile.append(std::move(later.profile));
  return reading;
}

class Import {
 public:
  Import(const std::string& path, const std::string& run, const ReadProgress& progress)
      : path_(path), run_(run), progress_(progress) {}

  ProfileImport make() {
    if (!add_halves() && !add_whole()) add_damaged();
    if (made_.traces.empty() && made_.problem.empty()) made_.problem = "no event of a process or a GPU is in it";
    return std::move(made_);
  }

 private:
  // False: what was read is forgotten, for it is not all, or not right.
  bool add_halves() {
    Document document;
    const auto reading = read_halves(path_, progress_, document);
    if (reading) write(document, *reading);
    return reading.has_value();
  }
  bool add_whole() {
    Document document;
    const ProfileReading reading = read_profile(path_, document.adding(), document.left_out, progress_);
    if (reading.problem.empty()) write(document, reading);
    return reading.problem.empty();
  }
  void add_damaged() {
    Document document;
    const OnProfileEvent add = document.adding();
    const std::function<void(const ProfileReading&)> on_document = [&](const ProfileReading& reading) {
      write(document, reading);
      document.left_out = {};
      document.profile = Profile(document.left_out);
    };
    read_damaged_profile(path_, {add, document.left_out, on_document}, progress_);
  }

  void write(Document& document, const ProfileReading& reading) {
    document.profile.finish();
    const ProfileTraces traces = write_profile(document.profile, reading, path_, run_, document.left_out);
    made_.traces.insert(made_.traces.end(), traces.paths.begin(), traces.paths.end());
    if (made_.problem.empty()) made_.problem = reading.problem;
    if (made_.note.empty()) made_.note = traces.note;
    made_.left_out.add(document.left_out);
  }

  const std::string& path_;
  const std::string& run_;
  const ReadProgress& progress_;
  ProfileImport made_;
};

}  // namespace

ProfileImport import_profile(const std::string& path, const std::string& run, const ReadProgress& progress) {
  return Import(path, run, progress).make();
}

}  // namespace hostprobe::analysis
