// driver_odd_requests: asks for what is not there, by every lookup, in ways that real programs do: names that must stay
// absent, the empty name, no place for a status, a version from before the function existed. Prints every answer.
#include "driver_by_lookup.h"

static void by_dlsym(const char* name) {
  dlerror();
  const bool found = dlsym(g_library, name) != nullptr;
  const char* error = dlerror();
  const char* said = error == nullptr ? "nothing" : strstr(error, "undefined symbol");
  printf("dlsym %s: %s, error says %s\n", name, found ? "found" : "absent", said == nullptr ? error : said);
}

static void by_procaddress(const char* name, int version, cuuint64_t flags, bool with_status) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status = static_cast<CUdriverProcAddressQueryResult>(77);
  const CUresult result = ask(name, &found, version, flags, with_status ? &status : nullptr);
  printf("form %d, '%s' %d flags %d: result %d, %s, status %d\n", g_second_form ? 2 : 1, name, version,
         static_cast<int>(flags), static_cast<int>(result), found != nullptr ? "found" : "absent",
         static_cast<int>(status));
}

int main() {
  open_library(RTLD_NOW);
  for (const char* name :
       {"cuLaunchKernel_v2", "cuInit_v2", "cuLaunchKernel_ptds", "cuLaunchKernelE", "cuGraphLaunch_v2",
        "cuGetProcAddress_v3", "cuLaunchKernel", "cuCtxSynchronize_v3", "cudnnCreate", "cu", ""})
    by_dlsym(name);
  for (bool second : {false, true}) {
    use_procaddress(second);
    for (bool with_status : {false, true}) {
      for (const char* name : {"cuLaunchKernel", "cuLaunchKernel_v2", "cuLaunchKernel_ptsz", "", "cuNoSuchFunction"})
        for (int version : {0, 1000, 4000, 7000, 13000})
          for (cuuint64_t flags : {0, 1, 2}) by_procaddress(name, version, flags, with_status);
    }
  }
  printf("null name: %d\n", static_cast<int>(ask(nullptr, &g_library, 12000, 0, nullptr)));
  printf("null place: %d\n", static_cast<int>(ask("cuInit", nullptr, 12000, 0, nullptr)));
}
