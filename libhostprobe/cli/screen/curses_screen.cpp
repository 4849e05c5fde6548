// curses_screen.cpp: see curses_screen.h.
#include "curses_screen.h"

#include <langinfo.h>
#include <signal.h>

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

// Not from <term.h>, which makes macros of words such as `lines`.
extern "C" char* tigetstr(const char* capability);

namespace hostprobe::cli {
namespace {

using analysis::Look;

volatile std::sig_atomic_t g_signal = 0;

void note_signal(int signal) { g_signal = signal; }

void catch_signals() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaction(signal, &action, nullptr);
}

// Six colours that differ on light and on dark.
constexpr short kCauseColours[] = {COLOR_GREEN, COLOR_YELLOW, COLOR_BLUE, COLOR_MAGENTA, COLOR_CYAN, COLOR_RED};
constexpr short kFirstPair = 1, kAlarmPair = 7;

bool has_colours() {
  const char* no = std::getenv("NO_COLOR");
  if ((no != nullptr && *no != 0) || !has_colors()) return false;
  start_color();
  use_default_colors();
  for (short i = 0; i < 6; ++i) init_pair(static_cast<short>(kFirstPair + i), COLOR_BLACK, kCauseColours[i]);
  init_pair(kAlarmPair, COLOR_RED, -1);
  return true;
}

attr_t attributes(const analysis::Span& span, bool colours) {
  switch (span.look) {
    case Look::kTitle:
      return A_BOLD;
    case Look::kFaint:
      return A_DIM;
    case Look::kAlarm:
      return A_BOLD | (colours ? static_cast<attr_t>(COLOR_PAIR(kAlarmPair)) : A_NORMAL);
    case Look::kChosen:
      return A_REVERSE;
    case Look::kCause:
      return colours ? static_cast<attr_t>(COLOR_PAIR(kFirstPair + static_cast<int>(span.cause % 6))) : A_NORMAL;
    case Look::kPlain:
      return A_NORMAL;
  }
  return A_NORMAL;
}

bool can_move_its_cursor() {
  const char* capability = tigetstr("cup");
  return capability != nullptr && capability != reinterpret_cast<char*>(-1);
}

// For a terminal that has no more.
std::string ascii(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x80) plain += text[at];
    if (byte >= 0xc0) plain += text.compare(at, 2, "·") == 0 ? '-' : text.compare(at, 2, "×") == 0 ? 'x' : '~';
  }
  return plain;
}

}  // namespace

CursesScreen::CursesScreen() {
  std::setlocale(LC_CTYPE, "");
  utf8_ = std::strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  const char* name = std::getenv("TERM");
  catch_signals();
  if (newterm(nullptr, stdout, stdin) == nullptr || !can_move_its_cursor()) {
    if (stdscr != nullptr) endwin();
    throw std::runtime_error(std::string("a terminal of the type '") + (name == nullptr ? "" : name) +
                             "' shows no screen; try --once");
  }
  cbreak();
  noecho();
  keypad(stdscr, TRUE);
  curs_set(0);
  set_escdelay(25);
  colours_ = has_colours();
}

CursesScreen::~CursesScreen() { endwin(); }

analysis::ScreenSize CursesScreen::size() const {
  return {static_cast<std::size_t>(std::max(1, getmaxx(stdscr))),
          static_cast<std::size_t>(std::max(1, getmaxy(stdscr))), utf8_};
}

void CursesScreen::show(const std::vector<analysis::ViewLine>& lines) {
  erase();
  for (std::size_t y = 0; y < lines.size(); ++y) {
    move(static_cast<int>(y), 0);
    for (const analysis::Span& span : lines[y]) {
      const attr_t look = attributes(span, colours_);
      attron(static_cast<int>(look));
      addstr((utf8_ ? span.text : ascii(span.text)).c_str());
      attroff(static_cast<int>(look));
    }
  }
  refresh();
}

std::optional<int> CursesScreen::key(std::chrono::milliseconds patience) {
  timeout(static_cast<int>(patience.count()));
  const int key = getch();
  if (key == ERR && patience.count() > 0) napms(10);  // a terminal that is gone answers at once
  if (key == ERR || key == KEY_RESIZE) return std::nullopt;
  if (key == KEY_UP) return analysis::kKeyUp;
  if (key == KEY_DOWN) return analysis::kKeyDown;
  return key;
}

int CursesScreen::signal() const { return g_signal; }

}  // namespace hostprobe::cli
