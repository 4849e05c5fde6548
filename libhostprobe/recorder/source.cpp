// source.cpp: see source.h.
#include "source.h"

#include <unistd.h>

#include "report/version.h"
#include "trace/clock.h"

namespace hostprobe::kernel {
namespace {

std::string host_name() {
  char name[65] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

}  // namespace

FileHeader kernel_header(const SchedOptions& options) {
  FileHeader header{};
  header.source = kFromKernel;
  header.pid = static_cast<std::uint32_t>(getpid());
  header.rank = header.local_rank = header.world_size = -1;
  analysis::set_field(header.mode, "kernel");
  analysis::set_field(header.host, host_name());
  analysis::set_field(header.boot_id, analysis::current_boot_id());
  analysis::set_field(header.hostprobe_version, analysis::version());
  analysis::set_field(header.hostprobe_commit, analysis::commit());
  analysis::set_field(header.command, options.command);
  return header;
}

}  // namespace hostprobe::kernel
