// contexts.cpp: contexts of the CUDA driver that go, and streams that are made.
//
// Room 2 (probe/). What we made in a context is gone with it. Which streams a program makes is recorded, because only the flags say
// whether one waits for the legacy stream.
#include <cuda.h>

#include "probe/hooks/gpu/gpu_ends.h"
#include "probe/hooks/gpu_times.h"
#include "probe/record/hook.h"

#undef cuCtxDestroy
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset

using namespace hostprobe;
using namespace hostprobe::probe;

namespace {

struct ContextGone {};

void forget(const GoneContext& gone) {
  forget_gpu_times(gone);
  forget_gpu_ends(gone);
}

ContextGone track_context_gone(bool gone, const void* context) {
  if (gone && context != nullptr) forget({context, 0});
  return {};
}

// It is gone when nobody retains it any more; a reset empties it in any case.
ContextGone track_primary_gone(bool taken, bool reset, CUdevice device) {
  unsigned flags = 0;
  int active = 1;
  if (!taken || !context_driver_was_found()) return {};
  if (reset || (g_context_driver.primary_state(device, &flags, &active) == CUDA_SUCCESS && active == 0))
    forget({nullptr, device});
  return {};
}

}  // namespace

#define HP_CONTEXT_GONE(name, Handle, label, track)                                                   \
  HP_MOMENTS_HOOK(kCuda, CUresult, kOther, kOther, name, (Handle handle), (handle), ContextGone,      \
                  launches_first_and_forgotten(), track, NoQueue{}, label, "", "site:code", "", "") { \
    rec.a = word_of(handle);                                                                          \
    rec.b = rec.d = rec.e = 0;                                                                        \
  }
#define HP_CONTEXT_DESTROYED(name) \
  HP_CONTEXT_GONE(name, CUcontext, "context:hex", track_context_gone(result == CUDA_SUCCESS, handle))
#define HP_PRIMARY_GONE(name, reset) \
  HP_CONTEXT_GONE(name, CUdevice, "device:i", track_primary_gone(result == CUDA_SUCCESS, reset, handle))
HP_CONTEXT_DESTROYED(cuCtxDestroy)
HP_CONTEXT_DESTROYED(cuCtxDestroy_v2)
HP_PRIMARY_GONE(cuDevicePrimaryCtxRelease, false)
HP_PRIMARY_GONE(cuDevicePrimaryCtxRelease_v2, false)
HP_PRIMARY_GONE(cuDevicePrimaryCtxReset, true)
HP_PRIMARY_GONE(cuDevicePrimaryCtxReset_v2, true)

// 0: none was made.
#define HP_MADE(stream) (result == CUDA_SUCCESS && (stream) != nullptr ? word_of(*(stream)) : 0)
#define HP_STREAM_MADE(name, params, args) \
  HP_DRIVER_CALL(kOther, kStreamMade, name, params, args, "stream:hex", "flags", "", "", HP_MADE(stream), flags, 0, 0)
HP_STREAM_MADE(cuStreamCreate, (CUstream * stream, unsigned flags), (stream, flags))
HP_STREAM_MADE(cuStreamCreateWithPriority, (CUstream * stream, unsigned flags, int priority), (stream, flags, priority))
