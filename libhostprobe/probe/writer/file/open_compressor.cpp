// open_compressor.cpp: finds libhostprobe-zstd.so, see compress.h. Not part of the objects under unit tests, which have the
// code itself.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "probe/intercept/resolve.h"
#include "probe/record/chunk.h"
#include "probe/runtime/options.h"
#include "probe/writer/file/compress.h"
#include "probe/writer/file/record_block.h"

namespace hostprobe::probe {

// The folder is that of the library this code is in, however it came into the process.
void open_compressor() {
  Dl_info own{};
  char path[1024];
  if (g_compress != nullptr || g_options.compress != kZstd || address_space_is_limited()) return;
  if (dladdr(reinterpret_cast<void*>(&open_compressor), &own) == 0 || own.dli_fname == nullptr) return;
  const char* slash = strrchr(own.dli_fname, '/');
  int folder = slash == nullptr ? 0 : static_cast<int>(slash - own.dli_fname + 1);
  int used = snprintf(path, sizeof path, "%s%.*shostprobe/libhostprobe-zstd.so", slash == nullptr ? "./" : "", folder,
                      own.dli_fname);
  if (used < 0 || used >= static_cast<int>(sizeof path)) return;
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) g_compress = reinterpret_cast<Compress>(real_dlsym(library, "hostprobe_compress"));
}

}  // namespace hostprobe::probe
