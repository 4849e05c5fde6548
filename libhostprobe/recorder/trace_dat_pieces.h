// trace_dat_pieces.h: what the process that reads a file of trace-cmd tells the one that started it.
//
// Room kernel/. Both are the same program, so pieces go through the pipe as they lie in memory. But what is told comes from a
// library that trusts its files: the one that hears believes nothing of it but its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "import/ftrace/kernel_clock.h"
#include "import/ftrace/kernel_table.h"

namespace hostprobe::kernel {

enum class PieceKind : std::uint32_t { kRow = 1, kLost, kName, kIrq, kClock, kProblem, kDone };

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
  void tell(const Piece& piece);
  void tell(PieceKind kind, std::string_view text);
  void flush();

 private:
  int pipe_;
  std::string buffer_;
};

class Listener {
 public:
  Listener(analysis::KernelTable& table, analysis::TraceTimes& times) : table_(table), times_(times) {}
  // Until the other end is closed.
  void listen(int pipe);
  bool done() const { return done_; }  // it said that it came to its end
  const std::string& problem() const { return problem_; }

 private:
  void hear(const Piece& piece);

  analysis::KernelTable& table_;
  analysis::TraceTimes& times_;
  bool done_ = false;
  std::string problem_;
};

}  // namespace hostprobe::kernel
