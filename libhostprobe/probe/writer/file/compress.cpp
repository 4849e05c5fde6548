// compress.cpp: see compress.h.
#include "probe/writer/file/compress.h"

#define ZSTD_STATIC_LINKING_ONLY  // for memory of our own
#include <zstd.h>

#define HP_HIDDEN __attribute__((visibility("hidden")))

// zstd calls these where a program has them. Ours come first, and say that nothing is traced.
extern "C" HP_HIDDEN unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx*);
extern "C" HP_HIDDEN void ZSTD_trace_compress_end(unsigned long long, const void*);
unsigned long long ZSTD_trace_compress_begin(const ZSTD_CCtx*) { return 0; }
void ZSTD_trace_compress_end(unsigned long long, const void*) {}

// What it names where it is given no memory, which it always is: nothing of ours calls the program's (--wrap).
extern "C" HP_HIDDEN void* __wrap_malloc(std::size_t);
extern "C" HP_HIDDEN void* __wrap_calloc(std::size_t, std::size_t);
extern "C" HP_HIDDEN void __wrap_free(void*);
void* __wrap_malloc(std::size_t) { return nullptr; }
void* __wrap_calloc(std::size_t, std::size_t) { return nullptr; }
void __wrap_free(void*) {}

namespace hostprobe::probe {
namespace {

ZSTD_CCtx* context_in(CompressMemory& memory) {
  if (memory.context == nullptr) {
    ZSTD_CCtx* context = ZSTD_initStaticCCtx(memory.workspace, sizeof memory.workspace);
    if (context == nullptr || ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1)) != 0)
      return nullptr;
    memory.context = context;
  }
  return static_cast<ZSTD_CCtx*>(memory.context);
}

}  // namespace

std::size_t compress(CompressMemory& memory, const void* bytes, std::size_t size, void* out, std::size_t room) {
  ZSTD_CCtx* context = context_in(memory);
  if (context == nullptr) return 0;
  std::size_t used = ZSTD_compress2(context, out, room, bytes, size);
  return ZSTD_isError(used) != 0 || used >= size ? 0 : used;
}

}  // namespace hostprobe::probe
