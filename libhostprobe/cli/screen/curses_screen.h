// curses_screen.h: the terminal as a screen of lines, by ncurses, for as long as this object lives.
//
// Room 4. Whatever ends the command by a signal that can be caught, the terminal is what it was before.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "live/top/view_lines.h"

namespace hostprobe::cli {

class CursesScreen {
 public:
  // Throws std::runtime_error where the terminal cannot show a screen.
  CursesScreen();
  ~CursesScreen();
  CursesScreen(const CursesScreen&) = delete;
  CursesScreen& operator=(const CursesScreen&) = delete;

  analysis::ScreenSize size() const;
  void show(const std::vector<analysis::ViewLine>& lines);
  // Waits for a key, at most so long. Nothing: none came, or the size has changed.
  std::optional<int> key(std::chrono::milliseconds patience);
  // The signal that asks the command to end; 0: none has.
  int signal() const;

 private:
  bool utf8_ = false, colours_ = false;
};

}  // namespace hostprobe::cli
