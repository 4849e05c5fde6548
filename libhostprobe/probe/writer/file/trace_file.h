// trace_file.h: appending blocks to the trace file.
//
// Room 2 (probe/). On one thread at a time. All writes go to known offsets (pwritev), so a failed
// or short one is simply repeated later over the same bytes. A write that RLIMIT_FSIZE forbids is not tried: it would
// raise SIGXFSZ in the program.
#pragma once

#include <stddef.h>
#include <sys/uio.h>

#include "format/file.h"
#include "probe/runtime/number_or_none.h"

namespace hostprobe::probe {

struct TraceFile {
  NumberOrNone fd;
  std::uint64_t bytes;  // valid length; where the next block goes
  int error;            // errno of the first failed write
  bool names_hooks;     // the hook table is in it, or in the file that it belongs to
  char path[1024];
};

extern TraceFile g_file;
extern FileHeader g_header;

// Makes the run folder and a new file in it, named <host>-<pid>-<start>.hptrace. False: errno says why.
bool create_file(const char* folder, std::uint64_t start_ns);
// False, too, where something else lies in its place, or it has got a second name, under which it is somebody else's.
bool open_file();
// The same without noting a failure, and for somebody else to keep: its descriptor, or -1 and errno.
int open_by_path();
// Whether that is what the descriptor is of.
bool is_trace_file(int fd);
// True after open_file() failed when the file was removed or replaced, as opposed to out of sight (chroot).
bool file_was_removed();
void close_file();

// One block from the given parts (their lengths add up to a multiple of 8). False: nothing was added.
bool append_block(BlockKind kind, const iovec* parts, int count);
// How long all writes have taken so far, as the disk let them.
std::uint64_t writing_ns();
// The header, in place. Works on a full disk: its page exists.
bool write_header();

}  // namespace hostprobe::probe
