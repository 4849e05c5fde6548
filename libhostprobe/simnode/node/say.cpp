// See say.h. write(2) and a stack buffer, so that it may be called in a forked child and with errno in use.
#include "say.h"

#include <unistd.h>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

namespace simnode {

void say(const char* format, ...) {
  int saved = errno;
  char line[1024];
  int length = snprintf(line, sizeof line, "simnode[%d]: ", static_cast<int>(getpid()));
  va_list arguments;
  va_start(arguments, format);
  errno = saved;
  int added = vsnprintf(line + length, sizeof line - static_cast<size_t>(length) - 1, format, arguments);
  va_end(arguments);
  length += added < 0 ? 0 : added;
  if (length > static_cast<int>(sizeof line) - 2) length = static_cast<int>(sizeof line) - 2;
  line[length++] = '\n';
  if (write(STDERR_FILENO, line, static_cast<size_t>(length)) < 0) errno = saved;
  errno = saved;
}

}  // namespace simnode
