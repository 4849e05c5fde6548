// See last_error.h.
#include "last_error.h"

#include "node/futex.h"
#include "node/say.h"
#include "settings.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace simnode::nccl {

namespace {

// One for the process, as in NCCL: the thread that finds an error is often not the one that asks.
Mutex g_mutex;
char g_text[1024];
thread_local char t_text[1024];

}  // namespace

ncclResult_t fail(ncclResult_t result, const char* format, ...) {
  char text[sizeof g_text];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  {
    MutexLock lock(g_mutex);
    memcpy(g_text, text, sizeof g_text);
  }
  if (settings().warn) say("NCCL WARN %s", text);
  return result;
}

const char* last_error() {
  MutexLock lock(g_mutex);
  memcpy(t_text, g_text, sizeof t_text);
  return t_text;
}

}  // namespace simnode::nccl
