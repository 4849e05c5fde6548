// dump_file.cpp: see dump_file.h.
#include "probe/writer/dump_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/writer/counters/aggregate.h"

namespace hostprobe::probe {
namespace {

void dump_path(char (&path)[sizeof TraceFile::path], const char* trace, std::uint32_t number) {
  std::size_t length = strlen(trace) - (sizeof kFileSuffix - 1);
  int used = snprintf(path, sizeof path, "%.*s-%04u%s", static_cast<int>(length), trace, number, kDumpSuffix);
  if (used >= static_cast<int>(sizeof path)) path[0] = 0;
}

}  // namespace

DumpFile::DumpFile(std::uint32_t number) : trace_(g_file) {
  g_file.error = 0;
  g_file.bytes = kFileHeaderBytes;
  g_file.names_hooks = true;  // the table is the trace's
  dump_path(g_file.path, trace_.path, number);
  g_file.fd = open(g_file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (g_file.fd < 0)
    g_file.error = errno;
  else
    fchmod(g_file.fd, 0600);  // whatever the umask left
  write_header();
}

DumpFile::~DumpFile() {
  write_header();
  close_file();
  g_file = trace_;
  g_header.file_errno = trace_.error;
}

void DumpFile::aggregate(ChunkHead* chunk, std::uint32_t end) {
  swap_files();
  probe::aggregate(chunk, end);
  swap_files();
}

void DumpFile::swap_files() {
  TraceFile other = trace_;
  trace_ = g_file;
  g_file = other;
}

std::uint64_t remove_dump(std::uint32_t number) {
  char path[sizeof TraceFile::path];
  dump_path(path, g_file.path, number);
  struct stat file {};
  std::uint64_t bytes = stat(path, &file) == 0 ? static_cast<std::uint64_t>(file.st_size) : 0;
  unlink(path);
  return bytes;
}

}  // namespace hostprobe::probe
