// trace_dat.cpp: see trace_dat.h.
#include "trace_dat.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "formats.h"
#include "trace_dat_pieces.h"
#include "tracefs_calls.h"

// A sanitizer reserves more memory than the reader may have; gcc and clang tell of it in different ways.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HP_SANITIZES_ADDRESSES
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define HP_SANITIZES_ADDRESSES
#endif

namespace hostprobe::kernel {
namespace {

constexpr rlim_t kMostMemory = rlim_t{8} << 30;
constexpr rlim_t kMostSeconds = 3600;

struct DatWalk {
  Teller& out;
  const Formats& formats;
  analysis::KernelNameTable names;
};

int on_record(tracecmd_input*, tep_record* record, int cpu, void* context) {
  auto& walk = *static_cast<DatWalk*>(context);
  Piece piece{};
  piece.cpu = static_cast<std::uint32_t>(cpu);
  if (record->missed_events != 0) {
    piece.kind = PieceKind::kLost;
    piece.count = record->missed_events < 0 ? 1 : static_cast<std::uint64_t>(record->missed_events);
    walk.out.tell(piece);
  }
  if (record->size <= 0 ||
      !walk.formats.read(record->data, static_cast<unsigned>(record->size), record->ts, piece.row, walk.names))
    return 0;
  piece.kind = PieceKind::kRow;
  walk.out.tell(piece);
  for (const KernelNameRow& name : walk.names.take()) {
    Piece named{};
    named.kind = name.named == kNamedIrq ? PieceKind::kIrq : PieceKind::kName;
    named.row.tid = name.number;
    named.row.ticks = record->ts;
    analysis::set_field(named.text, name.name);
    walk.out.tell(named);
  }
  return 0;
}

// In the other process.
void read_dat(const std::string& path, Teller& out) {
  tracecmd_set_loglevel(TEP_LOG_NONE);
  tracefs_set_loglevel(TEP_LOG_NONE);
  tep_set_loglevel(TEP_LOG_NONE);
  tracecmd_input* input = tracecmd_open(path.c_str(), kTracecmdNoPlugins);
  if (input == nullptr) return out.tell(PieceKind::kProblem, "libtracecmd cannot read it");
  const char* clock = tracecmd_get_trace_clock != nullptr ? tracecmd_get_trace_clock(input) : nullptr;
  if (clock != nullptr) out.tell(PieceKind::kClock, clock);
  const Formats formats(tracecmd_get_tep(input));
  DatWalk walk{out, formats, {}};
  tracecmd_iterate_events(input, nullptr, 0, on_record, &walk);
  for (int i = 0; i < tracecmd_buffer_instances(input); ++i)
    if (tracecmd_input* buffer = tracecmd_buffer_instance_handle(input, i))
      tracecmd_iterate_events(buffer, nullptr, 0, on_record, &walk);
  out.tell(PieceKind::kDone, "");
}

[[noreturn]] void be_the_reader(const std::string& path, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit none{0, 0}, time{kMostSeconds, kMostSeconds};
  setrlimit(RLIMIT_CORE, &none);
#ifndef HP_SANITIZES_ADDRESSES
  const rlimit memory{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  setrlimit(RLIMIT_CPU, &time);
  // Its end is its own: no handler of the process that it was.
  for (const int number : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) signal(number, SIG_DFL);
  if (const int nowhere = open("/dev/null", O_RDWR); nowhere >= 0)
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  Teller out(pipe);
  read_dat(path, out);
  out.flush();
  _exit(0);
}

std::string read_in_other_process(const std::string& path, analysis::KernelTable& table, analysis::TraceTimes& times) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  const pid_t reader = fork();
  if (reader < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (reader == 0) be_the_reader(path, ends[1]);
  close(ends[1]);
  Listener listener(table, times);
  listener.listen(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(reader, &status, 0) < 0 && errno == EINTR) {
  }
  if (!listener.problem().empty() || listener.done()) return listener.problem();
  return WIFSIGNALED(status) ? fmt::format("libtracecmd was ended by signal {} while it read it", WTERMSIG(status))
                             : "libtracecmd ended while it read it";
}

}  // namespace

TraceDatReader trace_dat_reader() { return read_in_other_process; }

}  // namespace hostprobe::kernel
