// archive.h: a run of several hosts for Perfetto: a file of each host and a manifest that places their clocks, in one TAR.
//
// Room 3. The manifest's form is Perfetto's (perfetto.dev/docs/reference/perfetto-manifest). Each file is of one machine, with its own
// clock and ids; where collectives say how the hosts' clocks stand to each other the manifest has it, else their times of day place them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "answer/host_clock.h"
#include "export/export_form.h"

namespace hostprobe::analysis {

class PerfettoArchive {
 public:
  struct File {
    std::string host, name;
    std::uint64_t bytes = 0;
  };

  // `clocks`: of hosts that are aligned with each other. std::runtime_error: a file would be larger than an archive can hold.
  // What the files will hold is worked out here, so their sizes are known before anything is written.
  PerfettoArchive(const ExportRequest& request, std::map<std::string, HostClock> clocks,
                  const ExportProgress& progress);

  const std::vector<File>& files() const { return files_; }
  // As ExportForm::write.
  std::vector<std::string> write(const Sink& sink, const ExportProgress& progress) const;

 private:
  std::vector<std::string> write_host(const std::string& host, const Sink& sink, const ExportProgress& progress) const;
  std::string manifest() const;

  const ExportRequest request_;
  const std::map<std::string, HostClock> clocks_;
  std::vector<File> files_;
};

}  // namespace hostprobe::analysis
