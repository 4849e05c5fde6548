// machine_load.h: what the kernel counts of the whole machine: stolen time, interrupts, and pressure (PSI).
//
// Room 2 (probe/). The writer thread only, once a second; seldomer where reading takes longer than 100 µs, as on machines with many CPUs,
// so that it costs a ten-thousandth of a core at most.
#pragma once

#include <cstdint>

#include "format/machine.h"
#include "probe/sources/source.h"

namespace hostprobe::probe {

// Reads when it is time to, and hands rows to the file in mode trace, and in others when the process ends.
void note_machine_load(const Round& round);
// Those that are kept, into the file or the dump that is open.
void write_machine_load();

// Of one line of /proc/stat, of which the begin is enough. Others change nothing.
void parse_stat_line(const char* line, std::uint64_t ns_per_tick, MachineRow& row);
// Of the lines of /proc/stat that are about CPUs.
struct CpuLines {
  std::uint64_t count;    // of CPUs
  std::uint64_t idle_ns;  // of all together, since the machine was started
};
void parse_cpu_line(const char* line, std::uint64_t ns_per_tick, CpuLines& cpus);
// Of /proc/pressure/…: `full` may be null. What is not there is kNotReadable.
void parse_pressure(const char* text, std::uint64_t* some_us, std::uint64_t* full_us);

}  // namespace hostprobe::probe
