// pipe_ends.cpp: see pipe_ends.h.
#include "probe/sources/pipe_ends.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/runtime/of_process.h"
#include "probe/runtime/own_threads.h"
#include "probe/runtime/small_file.h"
#include "probe/writer/file/events.h"

namespace hostprobe::probe {
namespace {

constexpr unsigned kMostDescriptors = 256, kMostPipes = 16;
HP_OF_PROCESS bool g_noted = false;

// Of the process, whatever table the calling thread has. 0: it is no pipe.
std::uint64_t pipe_inode(int descriptor) {
  char path[32], name[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(path, name, sizeof name - 1);
  if (length <= 0) return 0;
  name[length] = 0;
  constexpr char kPipe[] = "pipe:[";
  return strncmp(name, kPipe, sizeof kPipe - 1) == 0 ? strtoull(name + sizeof kPipe - 1, nullptr, 10) : 0;
}

bool is_write_end(int descriptor) {
  char path[40], text[128];
  snprintf(path, sizeof path, "/proc/self/fdinfo/%d", descriptor);
  if (!read_small_file(path, text, sizeof text)) return false;
  const char* flags = strstr(text, "flags:");
  return flags != nullptr && (strtoul(flags + 6, nullptr, 8) & O_ACCMODE) == O_WRONLY;
}

}  // namespace

void note_pipe_ends(const Round&) {
  if (g_noted) return;
  g_noted = true;
  unsigned looked_at = 0, pipes = 0;
  for_each_number("/proc/self/fd", [&](int descriptor) {
    if (descriptor <= STDERR_FILENO || ++looked_at > kMostDescriptors || pipes == kMostPipes) return;
    const std::uint64_t inode = pipe_inode(descriptor);
    if (inode == 0 || !is_write_end(descriptor)) return;
    note_event(kEventWritesPipe, 0, inode, 0, "");
    ++pipes;
  });
}

}  // namespace hostprobe::probe
