// trace_dat_pieces.cpp: see trace_dat_pieces.h.
#include "trace_dat_pieces.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace hostprobe::kernel {
namespace {

constexpr std::size_t kMostBuffered = 1 << 16;
constexpr std::size_t kPiecesAtOnce = 512;

// "[mono]" out of "local global [mono] boot"; or the name alone.
std::string clock_name(std::string_view text) {
  if (const std::size_t open = text.find('['); open != std::string_view::npos)
    text = text.substr(open + 1, text.find(']', open) - open - 1);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

void Teller::tell(const Piece& piece) {
  buffer_.append(reinterpret_cast<const char*>(&piece), sizeof(piece));
  if (buffer_.size() > kMostBuffered - sizeof(piece)) flush();
}

void Teller::tell(PieceKind kind, std::string_view text) {
  Piece piece{};
  piece.kind = kind;
  analysis::set_field(piece.text, text);
  tell(piece);
}

void Teller::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t written = write(pipe_, buffer_.data() + done, buffer_.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  buffer_.clear();
}

void Listener::listen(int pipe) {
  std::vector<char> buffer(sizeof(Piece) * kPiecesAtOnce);
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
      hear(piece);
    }
    std::memmove(buffer.data(), buffer.data() + at, held - at);
    held -= at;
  }
}

void Listener::hear(const Piece& piece) {
  const std::string_view text(piece.text, strnlen(piece.text, sizeof(piece.text)));
  switch (piece.kind) {
    case PieceKind::kRow:
      return table_.add(piece.cpu, piece.row.ticks, piece.row);
    case PieceKind::kLost:
      return table_.add_lost(piece.cpu, piece.count);
    case PieceKind::kName:
      table_.names().add_task(piece.row.tid, piece.row.ticks, text);
      return;
    case PieceKind::kIrq:
      return table_.names().add_irq(piece.row.tid, text);
    case PieceKind::kClock:
      times_.clock = clock_name(text);
      return;
    case PieceKind::kProblem:
      problem_ = text;
      return;
    case PieceKind::kDone:
      done_ = true;
  }
}

}  // namespace hostprobe::kernel
