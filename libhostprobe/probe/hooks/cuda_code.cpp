// hooks/cuda_code.cpp: what brings code to the GPU: modules, libraries, the linker, stream capture and graphs.
//
// Room 2 (probe/). Like hooks/cuda.cpp. These calls are rare and long (a load or an instantiation takes milliseconds):
// inside a training step they are what the cause `jit_compile` is made of.
#include <cuda.h>
#include <string.h>

#include "probe/hooks/gpu/captures.h"
#include "probe/hooks/graph_nodes.h"
#include "probe/hooks/kernel_name.h"
#include "probe/record/hook.h"
#include "probe/record/strings.h"

// cuda.h renames functions by #define to their newest versions; hooks are named as the library exports them.
#undef cuLinkAddData
#undef cuLinkAddFile
#undef cuGraphInstantiate
#undef cuGraphExecUpdate
#undef cuStreamBeginCapture

using namespace hostprobe;
using namespace hostprobe::probe;

namespace {

struct Forgotten {};

Forgotten track_unload() {
  forget_kernel_names();
  return {};
}

GraphSize track_instantiated(CUresult result, const CUgraphExec* executable, CUgraph graph) {
  return result == CUDA_SUCCESS && executable != nullptr ? remember_graph(*executable, graph) : GraphSize{};
}

GraphSize track_updated(CUresult result, CUgraphExec executable, CUgraph graph) {
  if (result != CUDA_SUCCESS) return size_of_graph(executable);
  forget_graph(executable);
  return remember_graph(executable, graph);
}

GraphSize track_forgotten(CUresult result, CUgraphExec executable) {
  const GraphSize size = size_of_graph(executable);
  if (result == CUDA_SUCCESS) forget_graph(executable);
  return size;
}

std::uint64_t name_id(const char* name) { return name == nullptr ? 0 : string_id(name, strlen(name)); }

}  // namespace

// ---- modules and libraries ------------------------------------------------------------------------------------------

#define HP_MADE(pointer) (result == CUDA_SUCCESS && (pointer) != nullptr ? word_of(*(pointer)) : 0)
#define HP_LOAD(name, params, args, made, file) \
  HP_DRIVER_CALL(kOther, kCode, name, params, args, "module:hex", "file:str", "", "", HP_MADE(made), file, 0, 0)

HP_LOAD(cuModuleLoad, (CUmodule * module, const char* file), (module, file), module, name_id(file))
HP_LOAD(cuModuleLoadData, (CUmodule * module, const void* image), (module, image), module, 0)
HP_LOAD(cuModuleLoadDataEx, (CUmodule * module, const void* image, unsigned n, CUjit_option* options, void** values),
        (module, image, n, options, values), module, 0)
HP_LOAD(cuModuleLoadFatBinary, (CUmodule * module, const void* image), (module, image), module, 0)
HP_LOAD(cuLibraryLoadData,
        (CUlibrary * library, const void* code, CUjit_option* options, void** values, unsigned n,
         CUlibraryOption* library_options, void** library_values, unsigned library_n),
        (library, code, options, values, n, library_options, library_values, library_n), library, 0)
HP_LOAD(cuLibraryLoadFromFile,
        (CUlibrary * library, const char* file, CUjit_option* options, void** values, unsigned n,
         CUlibraryOption* library_options, void** library_values, unsigned library_n),
        (library, file, options, values, n, library_options, library_values, library_n), library, name_id(file))

// What was loaded is gone, and its handles may be given out again.
#define HP_UNLOAD(name, Handle)                                                                                       \
  HP_MOMENTS_HOOK(kCuda, CUresult, kOther, kOther, name, (Handle module), (module), Forgotten,                        \
                  launches_first_and_forgotten(), track_unload(), NoQueue{}, "module:hex", "", "site:code", "", "") { \
    rec.a = word_of(module);                                                                                          \
    rec.b = rec.d = rec.e = 0;                                                                                        \
  }
HP_UNLOAD(cuModuleUnload, CUmodule)
HP_UNLOAD(cuLibraryUnload, CUlibrary)

// With lazy loading a kernel's code is loaded by the call that first asks for it.
HP_DRIVER_CALL(kOther, kOther, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name),
               (function, module, name), "module:hex", "kernel:str", "", "", module, name_id(name), 0, 0)
HP_DRIVER_CALL(kOther, kOther, cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char* name),
               (kernel, library, name), "module:hex", "kernel:str", "", "", library, name_id(name), 0, 0)
HP_DRIVER_CALL(kOther, kOther, cuLibraryGetModule, (CUmodule * module, CUlibrary library), (module, library),
               "module:hex", "", "", "", HP_MADE(module), 0, 0, 0)
HP_DRIVER_CALL(kOther, kOther, cuKernelGetFunction, (CUfunction * function, CUkernel kernel), (function, kernel),
               "kernel:hex", "", "", "", kernel, 0, 0, 0)

// ---- the linker -----------------------------------------------------------------------------------------------------

HP_DRIVER_CALL(kOther, kCode, cuLinkAddData_v2,
               (CUlinkState state, CUjitInputType type, void* image, size_t n, const char* name, unsigned options,
                CUjit_option* option, void** values),
               (state, type, image, n, name, options, option, values), "link:hex", "name:str", "", "bytes", state,
               name_id(name), 0, n)
HP_DRIVER_CALL(kOther, kCode, cuLinkAddFile_v2,
               (CUlinkState state, CUjitInputType type, const char* file, unsigned options, CUjit_option* option,
                void** values),
               (state, type, file, options, option, values), "link:hex", "name:str", "", "", state, name_id(file), 0, 0)
HP_DRIVER_CALL(kOther, kCode, cuLinkComplete, (CUlinkState state, void** image, size_t* n), (state, image, n),
               "link:hex", "", "", "", state, 0, 0, 0)

// ---- capture and graphs ---------------------------------------------------------------------------------------------

#define HP_CAPTURE(name, params, args)                                                                            \
  HP_TRACKED_HOOK(kCuda, CUresult, kOther, kOther, name, params, args, Captured, track_capture_begun(result), "", \
                  "mode", "site:code", "stream:hex", "") {                                                        \
    rec.a = rec.e = 0;                                                                                            \
    rec.b = word_of(mode);                                                                                        \
    rec.d = word_of(stream);                                                                                      \
  }
#define HP_CAPTURE_GLOBALLY(name)                                                               \
  HP_TRACKED_HOOK(kCuda, CUresult, kOther, kOther, name, (CUstream stream), (stream), Captured, \
                  track_capture_begun(result), "", "", "site:code", "stream:hex", "") {         \
    rec.a = rec.b = rec.e = 0;                                                                  \
    rec.d = word_of(stream);                                                                    \
  }
HP_CAPTURE_GLOBALLY(cuStreamBeginCapture)
HP_CAPTURE_GLOBALLY(cuStreamBeginCapture_ptsz)
HP_CAPTURE(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
HP_CAPTURE(cuStreamBeginCapture_v2_ptsz, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
#define HP_CAPTURE_TO_GRAPH(name)                                                                               \
  HP_CAPTURE(name,                                                                                              \
             (CUstream stream, CUgraph graph, const CUgraphNode* after, const CUgraphEdgeData* edges, size_t n, \
              CUstreamCaptureMode mode),                                                                        \
             (stream, graph, after, edges, n, mode))
HP_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph)
HP_CAPTURE_TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz)
// The callback's type is of newer headers.
#define HP_RECAPTURE(name)                                                                                \
  HP_CAPTURE(name, (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, void* changed, void* user), \
             (stream, mode, graph, changed, user))
HP_RECAPTURE(cuStreamBeginRecaptureToGraph)
HP_RECAPTURE(cuStreamBeginRecaptureToGraph_ptsz)
#define HP_END_CAPTURE(name)                                                                                    \
  HP_TRACKED_HOOK(kCuda, CUresult, kOther, kOther, name, (CUstream stream, CUgraph * graph), (stream, graph),   \
                  Captured, track_capture_ended(result), "graph:hex", "nodes", "site:code", "stream:hex", "") { \
    rec.a = HP_MADE(graph);                                                                                     \
    rec.b = rec.a != 0 ? count_nodes(*graph) : 0;                                                               \
    rec.d = word_of(stream);                                                                                    \
    rec.e = 0;                                                                                                  \
  }
HP_END_CAPTURE(cuStreamEndCapture)
HP_END_CAPTURE(cuStreamEndCapture_ptsz)

// A graph's launches carry how many nodes and kernels it has, so the numbers are kept by its handle.
#define HP_INSTANTIATE(name, params, args)                                                                    \
  HP_TRACKED_HOOK(kCuda, CUresult, kOther, kCode, name, params, args, GraphSize,                              \
                  track_instantiated(result, executable, graph), "graph:hex", "nodes", "site:code", "", "") { \
    rec.a = HP_MADE(executable);                                                                              \
    rec.b = note.nodes;                                                                                       \
    rec.d = rec.e = 0;                                                                                        \
  }
HP_INSTANTIATE(cuGraphInstantiate, (CUgraphExec * executable, CUgraph graph, CUgraphNode* bad, char* log, size_t n),
               (executable, graph, bad, log, n))
HP_INSTANTIATE(cuGraphInstantiate_v2, (CUgraphExec * executable, CUgraph graph, CUgraphNode* bad, char* log, size_t n),
               (executable, graph, bad, log, n))
HP_INSTANTIATE(cuGraphInstantiateWithFlags, (CUgraphExec * executable, CUgraph graph, unsigned long long flags),
               (executable, graph, flags))
HP_INSTANTIATE(cuGraphInstantiateWithParams,
               (CUgraphExec * executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
               (executable, graph, parameters))
HP_INSTANTIATE(cuGraphInstantiateWithParams_ptsz,
               (CUgraphExec * executable, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* parameters),
               (executable, graph, parameters))

#define HP_GRAPH_UPDATE(name, params, args)                                                              \
  HP_TRACKED_HOOK(kCuda, CUresult, kOther, kOther, name, params, args, GraphSize,                        \
                  track_updated(result, executable, graph), "graph:hex", "nodes", "site:code", "", "") { \
    rec.a = word_of(executable);                                                                         \
    rec.b = note.nodes;                                                                                  \
    rec.d = rec.e = 0;                                                                                   \
  }
HP_GRAPH_UPDATE(cuGraphExecUpdate,
                (CUgraphExec executable, CUgraph graph, CUgraphNode* bad, CUgraphExecUpdateResult* why),
                (executable, graph, bad, why))
HP_GRAPH_UPDATE(cuGraphExecUpdate_v2, (CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* why),
                (executable, graph, why))
#define HP_GRAPH_CALL(name, params, args, stream)                                                        \
  HP_DRIVER_CALL(kOther, kOther, name, params, args, "graph:hex", "nodes", "stream:hex", "", executable, \
                 size_of_graph(executable).nodes, stream, 0)
HP_GRAPH_CALL(cuGraphUpload, (CUgraphExec executable, CUstream stream), (executable, stream), stream)
HP_GRAPH_CALL(cuGraphUpload_ptsz, (CUgraphExec executable, CUstream stream), (executable, stream), stream)
// Which of its kernels run from now on is not known here.
HP_TRACKED_HOOK(kCuda, CUresult, kOther, kOther, cuGraphNodeSetEnabled,
                (CUgraphExec executable, CUgraphNode node, unsigned enabled), (executable, node, enabled), GraphSize,
                track_forgotten(result, executable), "graph:hex", "nodes", "site:code", "node:hex", "enabled") {
  rec.a = word_of(executable);
  rec.b = note.nodes;
  rec.d = word_of(node);
  rec.e = enabled;
}
HP_TRACKED_HOOK(kCuda, CUresult, kOther, kOther, cuGraphExecDestroy, (CUgraphExec executable), (executable), GraphSize,
                track_forgotten(result, executable), "graph:hex", "nodes", "site:code", "", "") {
  rec.a = word_of(executable);
  rec.b = note.nodes;
  rec.d = rec.e = 0;
}
