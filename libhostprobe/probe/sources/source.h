// source.h: what every source is: a row in the table of sources.cpp, with functions of its own file.
//
// Room 2 (probe/). What the own thread measures by the clock, besides the records of hooks. It works in rounds, four times a second,
// and may be up for other things in between. All of it on the writer thread, or where there is none on the thread that ends the trace.
#pragma once

#include <cstdint>

#include "probe/record/detail.h"

namespace hostprobe::probe {

struct Round {
  std::uint64_t now_ns = 0;      // CLOCK_MONOTONIC
  bool last = false;             // the trace ends: what is kept goes to the file, nothing new begins
  bool own_descriptors = false;  // those of this thread are in a table of its own, which the program does not see
  bool shed = false;             // detail is given up by now, that of this source too
};

// What a source has nothing to say to is null.
struct Source {
  // From this level on Round::shed is true.
  Shed shed = Shed{UINT32_MAX};
  // The level that spares what it costs our own thread; kShedNothing: none does.
  Shed spared = kShedNothing;
  // First in a round, before any record is taken: begins or ends what goes on between rounds. Not in the last one.
  void (*begin)(const Round& round) = nullptr;
  // Once in a round, when records and counters are in the file: what is new, or due, into it.
  void (*tick)(const Round& round) = nullptr;
  // Between rounds, before the thread sleeps, the file being closed. Until when it may, as far as this source goes: kNever, or a time of
  // CLOCK_MONOTONIC; one that has come wakes it for `between`.
  std::uint64_t (*due)(const Round& round) = nullptr;
  // Between rounds, the file being open: what cannot wait for the next one.
  void (*between)() = nullptr;
  // Mode flight: what it has kept, into the dump that is open.
  void (*dump)() = nullptr;
  // Before the thread ends, and its descriptors with it. `has_file`: what is new can still go there.
  void (*end)(bool has_file) = nullptr;
};

}  // namespace hostprobe::probe
