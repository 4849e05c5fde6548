// words.h: words and numbers as people read them, shared by all that writes.
//
// Room 3. Names come from other people's programs: nothing is printed that could steer a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hostprobe::analysis {

// Control characters, those that turn the direction of text, and broken UTF-8 replaced by '?'.
std::string printable(std::string_view text);

// The same of whole output: lines and tabs stay.
std::string for_terminal(std::string_view text);

// The same of a JSON document, whose strings stay what they are: such characters become escapes.
std::string json_for_terminal(std::string_view json);

// At most `width` characters, the middle replaced by "…" where it is longer.
std::string shortened(std::string_view text, std::size_t width);

// At most `width` characters of a name, so that what tells most of it stays: the file and line of "evaluate (src/train.py:44)" before the
// function's end, the end of a path, the beginning of any other name.
std::string shortened_place(std::string_view text, std::size_t width);

// "83 221": groups of three, which is what the eye counts.
std::string grouped(std::uint64_t number);

// Three significant digits with a unit that fits: "842 ns", "7.31 µs", "12.4 ms", "3.20 s".
std::string duration_text(double ns);

// A number as JSON has it; null: it is none, or infinite.
std::string real_text(double value);

// Terminal columns that UTF-8 text takes, counting every character as one.
std::size_t columns(std::string_view text);

// "SIGKILL"
std::string signal_name(int signal);

}  // namespace hostprobe::analysis
