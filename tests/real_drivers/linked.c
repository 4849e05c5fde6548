// linked: a program, or a plug-in (-DPLUGIN, opened by driver_opens_plugin), that is linked to the driver. names.h holds a
// line NAME(cu…) for each function that it calls, by the pointer to it and directly. Prints "linked NAME OWNER same|other"
// (is the pointer what dlsym gives?) and "called NAME RESULT".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#include "call.h"

#define NAME(name) int name(void*, long, long, long, long, long, long, long, long, long, long, long, long, long);
#include "names.h"
#undef NAME
int cuInit(unsigned);

static void look_at(void* driver, const char* name, void* pointer) {
  printf("linked %s %s %s\n", name, owner_of(pointer), dlsym(driver, name) == pointer ? "same" : "other");
}

__attribute__((visibility("default"))) void plugin_work(void) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  printf("init %d\n", cuInit(0));
#define NAME(name)                                                   \
  look_at(driver, #name, (void*)&name);                              \
  printf("called %s %d\n", #name, call_driver(#name, (void*)&name)); \
  printf("called %s %d\n", #name, name(first_argument(#name), NO_ARGUMENTS));
#include "names.h"
#undef NAME
  dlclose(driver);
}

#ifndef PLUGIN
int main(void) {
  plugin_work();
  return 0;
}
#endif
