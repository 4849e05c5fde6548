// imported.h: what a trace that was made of another tool's file says is missing of it: kinds of EventRow beside those in file.h.
//
// Room 1 (format/). Written by analysis/import/, read by analysis/measures/import_answer.cpp.
#pragma once

#include <cstdint>

namespace hostprobe {

enum ImportedEventKind : std::uint32_t {
  kEventReadInPart =
      12,              // `number`: bytes of its text that were read, `amount`: of all of it, 0: not known; text: why no
                       // more were
  kEventLeftOut = 13,  // `amount` things of one kind could not be used, or in part only; text: the kind; `reason`
                       // kLeftOutHasPlace: the first of them stands at byte `number` of the text
  kEventGuessed = 16,  // what the file does not say, and its name lets one guess; `number`: of which, kGuessed…
};

constexpr std::uint32_t kLeftOutHasPlace = 1;
constexpr std::uint64_t kGuessedRank = 1, kGuessedHost = 2;

}  // namespace hostprobe
