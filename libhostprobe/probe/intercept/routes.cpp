// routes.cpp: see routes.h. Cold: runs inside the program's dlsym and cuGetProcAddress calls.
#include "probe/intercept/routes.h"

#include <cuda.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include <atomic>
#include <initializer_list>

#include "probe/intercept/loader.h"
#include "probe/intercept/passages.h"
#include "probe/intercept/resolve.h"
#include "probe/record/doors.h"
#include "probe/record/replaced.h"
#include "probe/runtime/at_start.h"
#include "probe/runtime/elf_object.h"
#include "probe/runtime/of_process.h"
#include "probe/runtime/start_objects.h"

namespace hostprobe::probe {
namespace {

struct Known {
  Library library = Library::kDriver;
  ElfObject object;
  bool pinned = false;
  bool loaded = false;  // stored last, loaded first: the rest may be of a library that was closed
};
constexpr unsigned kMostKnown = 8;
HP_KEPT_BY_CHILDREN constinit Known g_known[kMostKnown];  // constinit: it is filled before our own initialisers run
HP_KEPT_BY_CHILDREN std::atomic<unsigned> g_known_count{0};
HP_KEPT_BY_CHILDREN std::atomic<std::uint32_t> g_unwrapped{0};

// Hooks by name: a program's symbol tables are gone through name by name, and PyTorch's hold thousands that begin with cu.
constexpr std::uint32_t kNameSlots = 1024;
HP_KEPT_BY_CHILDREN constinit std::uint16_t g_by_name[kNameSlots]{};

std::uint32_t name_slot(const char* name) {
  std::uint32_t hash = 2166136261u;
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
  return hash % kNameSlots;
}

bool is_wrapper(const void* address) { return is_own_address(address); }

// Two threads may ask at once: the first to store an address wins, both get the same wrapper.
void* wrapper_of(Hook& hook, void* real) {
  if (real == nullptr || is_wrapper(real)) return real;
  for (unsigned copy = 0; copy < kCopies; ++copy)
    if (take_copy(hook, copy, real)) return hook.wrapper(copy);
  g_unwrapped.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

// Where no hook stands in front of a function of the driver's.
void* passage_of(const char* name, void* real) {
  return is_ordered_name(name) && !is_wrapper(real) ? passage_for(name, real) : nullptr;
}

// What the caller's own (RTLD_LOCAL) scope holds beyond the global one: the library, if it is linked to it.
void* in_scope_of(const void* caller, const char* name) {
  dl_phdr_info info;
  ElfObject object;
  if (!find_object(caller, info) || !read_elf_object(info, object)) return nullptr;
  return object.needs[static_cast<unsigned>(library_of(name))] ? routed_function(name) : nullptr;
}

// What the program's own lookup gives, for a name we hook, if it comes from its library; else nullptr. Another
// interposer's dlsym may answer with a function of its own in front of the real one: then we stand in front of that.
void* look_up(void* handle, const char* name, const void* caller) {
  Library library = library_of(name);
  if (handle == RTLD_NEXT) {
    void* found = real_dlsym(RTLD_NEXT, name);
    return is_address_of(library, found) ? found : nullptr;
  }
  if (handle == RTLD_DEFAULT) {
    void* found = real_dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) found = in_scope_of(caller, name);
    return is_address_of(library, found) ? found : nullptr;
  }
  return is_address_of(library, real_dlsym(handle, name)) ? hp_next_dlsym(handle, name) : nullptr;
}

// ---- cuGetProcAddress -------------------------------------------------------------------------------------------------

using GetProcAddress1 = CUresult (*)(const char*, void**, int, cuuint64_t);
using GetProcAddress2 = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

// Where a version of cuda.h gave a name another prototype: from then on a request for it means another exported name. A
// version newer than we know of could do so again: then the answer must be the very address an exported name has.
struct Change {
  char name[28];  // not pointers: each start would relocate them
  int version;
  char exported[32];
};
constexpr Change kChanges[] = {
    {"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"},
    {"cuCtxDestroy", 4000, "cuCtxDestroy_v2"},
    {"cuDevicePrimaryCtxRelease", 11000, "cuDevicePrimaryCtxRelease_v2"},
    {"cuDevicePrimaryCtxReset", 11000, "cuDevicePrimaryCtxReset_v2"},
    {"cuLaunchHostFunc", 13010, "cuLaunchHostFunc_v2"},
    {"cuMemcpyHtoD", 3020, "cuMemcpyHtoD_v2"},
    {"cuMemcpyDtoH", 3020, "cuMemcpyDtoH_v2"},
    {"cuMemcpyDtoD", 3020, "cuMemcpyDtoD_v2"},
    {"cuMemcpyHtoA", 3020, "cuMemcpyHtoA_v2"},
    {"cuMemcpyAtoH", 3020, "cuMemcpyAtoH_v2"},
    {"cuMemcpyDtoA", 3020, "cuMemcpyDtoA_v2"},
    {"cuMemcpyAtoD", 3020, "cuMemcpyAtoD_v2"},
    {"cuMemcpyAtoA", 3020, "cuMemcpyAtoA_v2"},
    {"cuMemcpy2D", 3020, "cuMemcpy2D_v2"},
    {"cuMemcpy2DUnaligned", 3020, "cuMemcpy2DUnaligned_v2"},
    {"cuMemcpy3D", 3020, "cuMemcpy3D_v2"},
    {"cuMemcpyHtoDAsync", 3020, "cuMemcpyHtoDAsync_v2"},
    {"cuMemcpyDtoHAsync", 3020, "cuMemcpyDtoHAsync_v2"},
    {"cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2"},
    {"cuMemcpyHtoAAsync", 3020, "cuMemcpyHtoAAsync_v2"},
    {"cuMemcpyAtoHAsync", 3020, "cuMemcpyAtoHAsync_v2"},
    {"cuMemcpy2DAsync", 3020, "cuMemcpy2DAsync_v2"},
    {"cuMemcpy3DAsync", 3020, "cuMemcpy3DAsync_v2"},
    {"cuMemcpyBatchAsync", 13000, "cuMemcpyBatchAsync_v2"},
    {"cuMemcpy3DBatchAsync", 13000, "cuMemcpy3DBatchAsync_v2"},
    {"cuMemsetD8", 3020, "cuMemsetD8_v2"},
    {"cuMemsetD16", 3020, "cuMemsetD16_v2"},
    {"cuMemsetD32", 3020, "cuMemsetD32_v2"},
    {"cuMemsetD2D8", 3020, "cuMemsetD2D8_v2"},
    {"cuMemsetD2D16", 3020, "cuMemsetD2D16_v2"},
    {"cuMemsetD2D32", 3020, "cuMemsetD2D32_v2"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemAllocPitch", 3020, "cuMemAllocPitch_v2"},
    {"cuMemAllocHost", 3020, "cuMemAllocHost_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemHostRegister", 6050, "cuMemHostRegister_v2"},
    {"cuLinkAddData", 6050, "cuLinkAddData_v2"},
    {"cuLinkAddFile", 6050, "cuLinkAddFile_v2"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuGraphInstantiate", 11000, "cuGraphInstantiate_v2"},
    {"cuGraphExecUpdate", 12000, "cuGraphExecUpdate_v2"},
};
constexpr int kPerThreadSince = 7000;  // before, there was one default stream for all threads

// The hook of the function that a request means; nullptr: not one of ours.
Hook* requested_hook(const char* name, int version, bool per_thread) {
  const char* exported = name;
  for (const Change& change : kChanges)
    if (version >= change.version && same(change.name, name)) exported = change.exported;
  char long_name[96];
  if (per_thread && version >= kPerThreadSince)
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      const std::size_t length = length_of(exported);
      if (length + length_of(suffix) >= sizeof long_name) return nullptr;
      copy_string(long_name, exported);
      copy_string(long_name + length, suffix);
      if (Hook* hook = routed_hook(long_name)) return hook;
    }
  return routed_hook(exported);
}

constexpr int kNewestKnownVersion = 13050;

void* wrapper_for_get_proc_address(int version, void* real);

// Which form was answered: driver 470 knows only the first, whatever version it is asked for.
void* wrapper_for_answered_lookup(int version, void* answer) {
  if (answer == routed_function("cuGetProcAddress")) version = 11030;
  if (answer == routed_function("cuGetProcAddress_v2")) version = 12000;
  return wrapper_for_get_proc_address(version, answer);
}

// What stands in front of `answer`, the driver's answer to a request; `answer` itself where that is nobody.
void* replace_answer(const char* name, int version, std::uint64_t flags, void* answer) {
  if (answer == nullptr || is_wrapper(answer)) return answer;
  if (same(name, "cuGetProcAddress")) return wrapper_for_answered_lookup(version, answer);
  // The exported address, where it is the same, says exactly which function was answered.
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook)
    if (hook->wrapper != nullptr && after(hook->row->name, name) != nullptr &&
        routed_function(hook->row->name) == answer) {
      void* wrapper = wrapper_of(*hook, answer);
      if (wrapper == nullptr) wrapper = passage_of(name, answer);
      return wrapper != nullptr ? wrapper : answer;
    }
  bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  Hook* hook = version > kNewestKnownVersion ? nullptr : requested_hook(name, version, per_thread);
  void* wrapper = hook == nullptr ? nullptr : wrapper_of(*hook, answer);
  if (wrapper == nullptr) wrapper = passage_of(name, answer);
  return wrapper != nullptr ? wrapper : answer;
}

HP_KEPT_BY_CHILDREN void* g_real_get1[kCopies];
HP_KEPT_BY_CHILDREN void* g_real_get2[kCopies];

// `symbol` may be null or empty, `status` may be null: both are the driver's to judge.
template <unsigned copy>
CUresult get_proc_address1(const char* symbol, void** function, int version, cuuint64_t flags) {
  scan_new_objects(ScanBy::kLookup);
  CUresult result = reinterpret_cast<GetProcAddress1>(g_real_get1[copy])(symbol, function, version, flags);
  if (result == CUDA_SUCCESS && symbol != nullptr && function != nullptr)
    *function = replace_answer(symbol, version, flags, *function);
  return result;
}

template <unsigned copy>
CUresult get_proc_address2(const char* symbol, void** function, int version, cuuint64_t flags,
                           CUdriverProcAddressQueryResult* status) {
  scan_new_objects(ScanBy::kLookup);
  CUresult result = reinterpret_cast<GetProcAddress2>(g_real_get2[copy])(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS && symbol != nullptr && function != nullptr)
    *function = replace_answer(symbol, version, flags, *function);
  return result;
}

void* const g_get1_wrappers[kCopies] = {
    reinterpret_cast<void*>(&get_proc_address1<0>), reinterpret_cast<void*>(&get_proc_address1<1>),
    reinterpret_cast<void*>(&get_proc_address1<2>), reinterpret_cast<void*>(&get_proc_address1<3>)};
void* const g_get2_wrappers[kCopies] = {
    reinterpret_cast<void*>(&get_proc_address2<0>), reinterpret_cast<void*>(&get_proc_address2<1>),
    reinterpret_cast<void*>(&get_proc_address2<2>), reinterpret_cast<void*>(&get_proc_address2<3>)};

void* in_front_of(void* (&reals)[kCopies], void* const (&wrappers)[kCopies], void* real) {
  for (unsigned copy = 0; copy < kCopies; ++copy) {
    void* none = nullptr;
    std::atomic_ref slot(reals[copy]);
    if (slot.compare_exchange_strong(none, real, std::memory_order_acq_rel) || none == real) return wrappers[copy];
  }
  g_unwrapped.fetch_add(1, std::memory_order_relaxed);
  return real;
}

// Below 12.0 the function has four parameters, from 12.0 on five.
void* wrapper_for_get_proc_address(int version, void* real) {
  link_hooks();  // for replace_answer
  return version >= 12000 ? in_front_of(g_real_get2, g_get2_wrappers, real)
                          : in_front_of(g_real_get1, g_get1_wrappers, real);
}

}  // namespace

namespace {

HP_KEPT_BY_CHILDREN std::atomic<bool> g_indexed{false};

// Threads may do it at the same time: each finds what the others have put where it would have put it.
void index_routed_hooks() {
  link_hooks();
  for (Hook* hook = __start_hp_state; hook != __stop_hp_state; ++hook) {
    if (hook->wrapper == nullptr) continue;
    const auto number = static_cast<std::uint16_t>(hook - __start_hp_state + 1);
    for (std::uint32_t slot = name_slot(hook->row->name);; slot = (slot + 1) % kNameSlots) {
      std::uint16_t none = 0;
      if (std::atomic_ref(g_by_name[slot]).compare_exchange_strong(none, number) || none == number) break;
    }
  }
  g_indexed.store(true, std::memory_order_release);
}

}  // namespace

Hook* routed_hook(const char* name) {
  if (!g_indexed.load(std::memory_order_acquire)) index_routed_hooks();
  for (std::uint32_t slot = name_slot(name); g_by_name[slot] != 0; slot = (slot + 1) % kNameSlots) {
    Hook* hook = __start_hp_state + g_by_name[slot] - 1;
    if (same(hook->row->name, name)) return hook;
  }
  return nullptr;
}

static bool is_loaded(Known& known) { return std::atomic_ref(known.loaded).load(std::memory_order_acquire); }

bool is_routed_name(const char* name) {
  if (after(name, "cu") == nullptr && after(name, "nccl") == nullptr) return false;
  return same(name, "cuGetProcAddress") || same(name, "cuGetProcAddress_v2") || routed_hook(name) != nullptr ||
         (is_ordered_name(name) && routed_function(name) != nullptr);
}

const char* lasting_name(const char* name) {
  if (const Hook* hook = routed_hook(name)) return hook->row->name;
  for (const char* lookup : {"cuGetProcAddress", "cuGetProcAddress_v2"})
    if (same(name, lookup)) return lookup;
  unsigned count = g_known_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const ElfObject& object = g_known[i].object;
    if (!is_loaded(g_known[i]) || g_known[i].library != Library::kDriver) continue;
    if (const ElfW(Sym)* symbol = versioned_symbol(object, name, nullptr)) return object.strings + symbol->st_name;
  }
  return nullptr;
}

void* wrapper_for(const char* name, void* real) {
  if (is_wrapper(real)) return real;
  if (same(name, "cuGetProcAddress")) return wrapper_for_get_proc_address(11030, real);
  if (same(name, "cuGetProcAddress_v2")) return wrapper_for_get_proc_address(12000, real);
  Hook* hook = routed_hook(name);
  void* wrapper = hook == nullptr ? nullptr : wrapper_of(*hook, real);
  return wrapper != nullptr ? wrapper : passage_of(name, real);
}

bool is_address_of(Library library, const void* address) {
  unsigned count = g_known_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i)
    if (is_loaded(g_known[i]) && g_known[i].library == library && g_known[i].object.holds(address)) return true;
  return false;
}

void* routed_function(const char* name) {
  Library library = library_of(name);
  unsigned count = g_known_count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i)
    if (is_loaded(g_known[i]) && g_known[i].library == library)
      if (void* found = defined_function(g_known[i].object, name)) return found;
  return nullptr;
}

static bool is_same(const ElfObject& one, const ElfObject& other) {
  return one.begin == other.begin && one.end == other.end && one.symbols == other.symbols;
}

static void learn_library(const LoadedLibrary& found) {
  unsigned count = g_known_count.load(std::memory_order_relaxed), place = count;
  for (unsigned i = 0; i < count; ++i) {
    if (!is_loaded(g_known[i])) {
      place = i;
      continue;
    }
    if (is_same(g_known[i].object, found.object)) return;
  }
  if (place == kMostKnown) return;
  g_known[place].library = found.library;
  g_known[place].object = found.object;
  std::atomic_ref(g_known[place].loaded).store(true, std::memory_order_release);
  if (place == count) g_known_count.store(count + 1, std::memory_order_release);
}

void learn_libraries(const LoadedLibrary* found, unsigned found_count) {
  unsigned count = g_known_count.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) {
    bool gone = !g_known[i].pinned;
    for (unsigned j = 0; j < found_count; ++j)
      if (is_same(found[j].object, g_known[i].object)) gone = false;
    if (gone) std::atomic_ref(g_known[i].loaded).store(false, std::memory_order_release);
  }
  for (unsigned j = 0; j < found_count; ++j) learn_library(found[j]);
}

void trust_start_libraries() {
  unsigned count = g_known_count.load(std::memory_order_relaxed);
  for (unsigned i = 0; i < count; ++i) g_known[i].pinned = true;
}

void pin_libraries() {
  LoaderVisit visit;
  unsigned count = visit ? g_known_count.load(std::memory_order_acquire) : 0;
  for (unsigned i = 0; i < count; ++i) {
    Known& known = g_known[i];
    if (known.pinned || !is_loaded(known)) continue;
    const std::uintptr_t begin = known.object.begin;
    Dl_info where;
    Library library;
    if (dladdr(reinterpret_cast<void*>(begin), &where) != 0 && is_library_file(where.dli_fname, library) &&
        library == known.library && dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != nullptr)
      known.pinned = true;
    else if (known.object.begin == begin)  // not if another thread has learned the next one meanwhile
      std::atomic_ref(known.loaded).store(false, std::memory_order_release);
  }
}

const char* driver_kernel_name(const void* function) {
  using NameOf = CUresult (*)(const char**, const void*);
  HP_KEPT_BY_CHILDREN static std::atomic<NameOf> of_function{nullptr}, of_kernel{nullptr};
  if (of_function.load(std::memory_order_acquire) == nullptr) {
    of_kernel.store(reinterpret_cast<NameOf>(routed_function("cuKernelGetName")), std::memory_order_relaxed);
    of_function.store(reinterpret_cast<NameOf>(routed_function("cuFuncGetName")), std::memory_order_release);
  }
  const char* name = nullptr;
  NameOf ask = of_function.load(std::memory_order_acquire);
  if (ask != nullptr && ask(&name, function) == CUDA_SUCCESS && name != nullptr) return name;
  ask = of_kernel.load(std::memory_order_acquire);
  if (ask != nullptr && ask(&name, function) == CUDA_SUCCESS && name != nullptr) return name;
  return nullptr;
}

std::uint32_t unwrapped_functions() { return g_unwrapped.load(std::memory_order_relaxed); }

}  // namespace hostprobe::probe

using namespace hostprobe::probe;

// What dlsym shall answer, or nullptr: then the stub jumps to the real one, which sees the true caller. Each name asks
// whether objects were loaded, not only those we answer: a function of an object that is linked to the driver has any name.
extern "C" __attribute__((visibility("hidden"))) void* hp_match_dlsym(void* handle, const char* name, void* caller) {
  if (hp_next_dlsym == nullptr) find_dlsym();
  if (!hooks_enabled() || name == nullptr) return nullptr;
  int saved = errno;
  scan_new_objects(ScanBy::kLookup);
  pin_libraries();  // who has a wrapper, by this call or in a slot, may close the library at once
  void* answer = nullptr;
  if (is_routed_name(name) && !is_address_of(library_of(name), caller) && !is_own_address(caller)) {
    void* real = look_up(handle, name, caller);
    if (real != nullptr) answer = wrapper_for(name, real);
  }
  errno = saved;
  return answer;
}
