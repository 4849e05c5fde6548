// trace_head.h: what the head of a trace file says, without reading more of it.
//
// Room 3.
#pragma once

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "format/file.h"

namespace hostprobe::analysis {

// Nothing: it cannot be opened, is damaged, foreign, or newer than this; whoever reads it whole will say which.
std::optional<FileHeader> head_of(const std::string& path);

// "": not known.
inline std::string host_of(const FileHeader& header) { return {header.host, strnlen(header.host, sizeof header.host)}; }
inline std::string boot_of(const FileHeader& header) {
  return {header.boot_id, strnlen(header.boot_id, sizeof header.boot_id)};
}

// The job's id; "": nobody said it.
inline std::string job_id_of(const FileHeader& header) { return {header.job, strnlen(header.job, sizeof header.job)}; }

struct RunFile {
  std::string path;
  FileHeader header;
};
// Of these the ones whose head can be read.
std::vector<RunFile> run_files(const std::vector<std::string>& paths);

}  // namespace hostprobe::analysis
