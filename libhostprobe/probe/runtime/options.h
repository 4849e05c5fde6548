// options.h: the settings of include/hostprobe/options.def as fields, filled once from the environment.
//
// Room 2 (probe/). Read by the constructor before main, without allocating; complaints are kept until the process turns
// out to be a target, so that the hundreds of tools a build starts stay silent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "settings/setting_value.h"

namespace hostprobe::probe {

struct Options {
#define HP_TEXT(name, fallback, meaning) char name[text_bytes(#name)];
#define HP_NUMBER(name, fallback, least, most, meaning) std::uint64_t name;
#define HP_DECIMAL(name, fallback, least, most, meaning) std::uint64_t name;  // in thousandths
#define HP_CHOICE(name, fallback, words, meaning) std::uint64_t name;
#define HP_SWITCH(name, fallback, meaning) bool name;
#include "hostprobe/options.def"
#undef HP_TEXT
#undef HP_NUMBER
#undef HP_DECIMAL
#undef HP_CHOICE
#undef HP_SWITCH
};

extern Options g_options;

// Fills g_options from the environment; what cannot be used gets its default.
void read_options(char** environment);

// Whether the environment names the run folder. One that cannot be used counts, too: it is said then that the default one is used.
bool out_is_given();

// Says, once, what was unknown or malformed. Called when the process starts to record.
void report_bad_options(char** environment);

enum Mode : std::uint64_t { kMonitor = 0, kFlight = 1, kTrace = 2 };  // as options.def counts them
enum GpuTiming : std::uint64_t { kGpuAuto = 0, kGpuOff = 1, kGpuEvents = 2 };

// Whether set_option() would do it; changes nothing.
bool check_option(const char* name, const char* value, char* why, std::size_t why_bytes);
// `hostprobe ctl PID set`: changes a setting of a process that records already. Names are those of options.def. False: it is as
// it was, and `why` says so, what and why. By the writer, which is the only one to change settings then.
bool set_option(const char* name, const char* value, char* why, std::size_t why_bytes);

// "NAME=VALUE" of the `index`th setting that may change while a process records. False: there are no more.
bool describe_option(unsigned index, char* out, std::size_t bytes);

const char* mode_name();

}  // namespace hostprobe::probe
