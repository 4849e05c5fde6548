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
#include <cstring>
#include <system_error>

#include "formats.h"
#include "tracefs_calls.h"

namespace hostprobe::kernel {
namespace {

constexpr rlim_t kMostMemory = rlim_t{8} << 30;
constexpr rlim_t kMostSeconds = 3600;

enum class PieceKind : std::uint32_t { kRow = 1, kLost, kName, kIrq, kClock, kProblem, kDone };

// What goes from the reading process to ours; both are the same program.
struct Piece {
  PieceKind kind;
  std::uint32_t cpu;
  std::uint64_t count;
  KernelRow row;
  char text[48];
};

class Teller {
 public:
  explicit Teller(int pipe) : pipe_(pipe) {}

  void tell(const Piece& piece) {
    buffer_.append(reinterpret_cast<const char*>(&piece), sizeof(piece));
    if (buffer_.size() > (1 << 16) - sizeof(piece)) flush();
  }
  void tell(PieceKind kind, std::string_view text) {
    Piece piece{};
    piece.kind = kind;
    analysis::set_field(piece.text, text);
    tell(piece);
  }
  void flush() {
    std::size_t done = 0;
    while (done < buffer_.size()) {
      const ssize_t written = write(pipe_, buffer_.data() + done, buffer_.size() - done);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      done += static_cast<std::size_t>(written);
    }
    buffer_.clear();
  }

 private:
  int pipe_;
  std::string buffer_;
};

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
  const rlimit none{0, 0}, memory{kMostMemory, kMostMemory}, time{kMostSeconds, kMostSeconds};
  setrlimit(RLIMIT_CORE, &none);
#if !defined(__SANITIZE_ADDRESS__)
  setrlimit(RLIMIT_AS, &memory);
#endif
  setrlimit(RLIMIT_CPU, &time);
  if (const int nowhere = open("/dev/null", O_RDWR); nowhere >= 0)
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, fd);
  Teller out(pipe);
  read_dat(path, out);
  out.flush();
  _exit(0);
}

// "[mono]" out of "local global [mono] boot"; or the name alone.
std::string clock_name(std::string_view text) {
  if (const std::size_t open = text.find('['); open != std::string_view::npos)
    text = text.substr(open + 1, text.find(']', open) - open - 1);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

struct DatListener {
  analysis::KernelTable& table;
  analysis::TraceTimes& times;
  bool done = false;
  std::string problem = {};

  void hear(const Piece& piece) {
    const std::string_view text(piece.text, strnlen(piece.text, sizeof(piece.text)));
    switch (piece.kind) {
      case PieceKind::kRow:
        return table.add(piece.cpu, piece.row.ticks, piece.row);
      case PieceKind::kLost:
        return table.add_lost(piece.cpu, piece.count);
      case PieceKind::kName:
        table.names().add_task(piece.row.tid, piece.row.ticks, text);
        return;
      case PieceKind::kIrq:
        return table.names().add_irq(piece.row.tid, text);
      case PieceKind::kClock:
        times.clock = clock_name(text);
        return;
      case PieceKind::kProblem:
        problem = text;
        return;
      case PieceKind::kDone:
        done = true;
    }
  }
};

void listen(int pipe, DatListener& listener) {
  std::vector<char> buffer(sizeof(Piece) * 512);
  std::size_t held = 0;
  for (;;) {
    const ssize_t got = read(pipe, buffer.data() + held, buffer.size() - held);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    held += static_cast<std::size_t>(got);
    std::size_t at = 0;
    for (; held - at >= sizeof(Piece); at += sizeof(Piece)) {
      Piece piece;
      std::memcpy(&piece, buffer.data() + at, sizeof(piece));
      listener.hear(piece);
    }
    std::memmove(buffer.data(), buffer.data() + at, held - at);
    held -= at;
  }
}

std::string read_in_other_process(const std::string& path, analysis::KernelTable& table, analysis::TraceTimes& times) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  const pid_t reader = fork();
  if (reader < 0) throw std::system_error(errno, std::generic_category(), "cannot start a process");
  if (reader == 0) be_the_reader(path, ends[1]);
  close(ends[1]);
  DatListener listener{table, times};
  listen(ends[0], listener);
  close(ends[0]);
  int status = 0;
  while (waitpid(reader, &status, 0) < 0 && errno == EINTR) {
  }
  if (!listener.problem.empty() || listener.done) return listener.problem;
  return WIFSIGNALED(status) ? fmt::format("libtracecmd was ended by signal {} while it read it", WTERMSIG(status))
                             : "libtracecmd ended while it read it";
}

}  // namespace

TraceDatReader trace_dat_reader() { return read_in_other_process; }

}  // namespace hostprobe::kernel
