// trace_begin.cpp: see trace_begin.h.
#include "probe/writer/trace_begin.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/control/calibrate.h"
#include "probe/control/limits.h"
#include "probe/runtime/options.h"
#include "probe/runtime/say.h"
#include "probe/sources/clock_pairs.h"
#include "probe/writer/file/file_header.h"
#include "probe/writer/file/hook_table.h"
#include "probe/writer/file/modules.h"
#include "probe/writer/file/trace_file.h"

extern char** environ;

namespace hostprobe::probe {

bool create_trace_file() {
  fill_file_header(environ);
  if (!create_file(g_options.out, g_header.first.realtime_ns)) {
    say("cannot make a trace in %s (%s): nothing is recorded; choose a writable HOSTPROBE_OUT", g_options.out,
        strerrordesc_np(errno));
    return false;
  }
  apply_limits();
  put_costs_into_header();
  write_header();
  begin_modules();
  write_hook_table();
  write_hook_states();
  write_new_modules();
  write_clock();
  write_header();
  close_file();
  return true;
}

}  // namespace hostprobe::probe
