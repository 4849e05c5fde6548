// shell_word.cpp: see shell_word.h.
#include "shell_word.h"

#include "words/words.h"

namespace hostprobe::analysis {

std::string shell_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@,=%";
  // Nobody pastes a line break, and what cannot be seen is no name to copy.
  const std::string shown = printable(word);
  if (!shown.empty() && shown.find_first_not_of(kPlain) == std::string::npos && shown.front() != '-') return shown;
  std::string quoted = "'";
  for (const char character : shown) quoted += character == '\'' ? "'\\''" : std::string(1, character);
  return quoted + "'";
}

}  // namespace hostprobe::analysis
