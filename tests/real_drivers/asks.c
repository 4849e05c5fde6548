// asks NAMES REQUESTS: opens the driver at run time and asks it for functions, by dlsym and by both forms of
// cuGetProcAddress; then calls what it got. Knows no header: an old driver lacks half of what is in a new one.
//
// NAMES: a name a line, with "call" behind it where it is to be called. REQUESTS: lines "NAME VERSION FLAGS".
// Prints, a line each: "name NAME OWNER" · "asked NAME VERSION FLAGS | RESULT WHO OWNER | RESULT WHO STATUS OWNER" (first
// and second form) · "called NAME RESULT". WHO is the exported name that has the answered address; OWNER the file it lies in.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"

typedef int (*First)(const char*, void**, int, uint64_t);
typedef int (*Second)(const char*, void**, int, uint64_t, int*);

struct Named {
  void* address;
  char name[96];
  int calls;
};
static struct Named g_names[2048];
static unsigned g_count;
static void* g_by_address;
static char g_untouched;

static int by_address(const void* left, const void* right) {
  const char* a = ((const struct Named*)left)->address;
  const char* b = ((const struct Named*)right)->address;
  return (a > b) - (a < b);
}

static void read_names(const char* path, void* driver) {
  char word[16];
  FILE* file = fopen(path, "r");
  while (file != NULL && g_count < 2048 && fscanf(file, "%95s %15s", g_names[g_count].name, word) == 2) {
    struct Named* named = &g_names[g_count++];
    named->calls = strcmp(word, "call") == 0;
    named->address = dlsym(driver, named->name);
    printf("name %s %s\n", named->name, owner_of(named->address));
    if (named->address != NULL) tsearch(named, &g_by_address, by_address);
  }
}

static const char* who_is(void* address) {
  struct Named key = {.address = address};
  if (address == NULL) return "null";
  if (address == &g_untouched) return "untouched";
  struct Named** found = tfind(&key, &g_by_address, by_address);
  return found == NULL ? "unexported" : (*found)->name;
}

static void call(const char* name, void* address) { printf("called %s %d\n", name, call_driver(name, address)); }

static int is_called(const char* name) {
  for (unsigned i = 0; i < g_count; ++i)
    if (g_names[i].calls && strcmp(g_names[i].name, name) == 0) return 1;
  return 0;
}

static void ask(First first, Second second, const char* name, int version, uint64_t flags, int calling) {
  void* one = &g_untouched;
  void* two = &g_untouched;
  int status = 77, result = -1;
  if (first != NULL) result = first(name, &one, version, flags);
  if (calling && is_called(who_is(one))) call(who_is(one), one);
  if (!calling) printf("asked %s %d %d | %d %s %s |", name, version, (int)flags, result, who_is(one), owner_of(one));
  result = -1;
  if (second != NULL) result = second(name, &two, version, flags, &status);
  if (calling && is_called(who_is(two))) call(who_is(two), two);
  if (!calling) printf(" %d %s %d %s\n", result, who_is(two), status, owner_of(two));
}

static void ask_all(First first, Second second, const char* path, int calling) {
  char name[96];
  int version, flags;
  FILE* file = fopen(path, "r");
  while (file != NULL && fscanf(file, "%95s %d %d", name, &version, &flags) == 3)
    ask(first, second, strcmp(name, "-") == 0 ? "" : name, version, (uint64_t)flags, calling);
}

int main(int argc, char** argv) {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (argc != 4 || driver == NULL) return fprintf(stderr, "asks NAMES REQUESTS CALLS; %s\n", dlerror()), 2;
  read_names(argv[1], driver);
  First first = (First)dlsym(driver, "cuGetProcAddress");
  Second second = (Second)dlsym(driver, "cuGetProcAddress_v2");
  ask_all(first, second, argv[2], 0);
  int version = 0;
  int (*driver_version)(int*) = (int (*)(int*))dlsym(driver, "cuDriverGetVersion");
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(driver, "cuInit");
  int result = driver_version(&version);
  printf("version %d %d\ninit %d\n", result, version, init(0));
  for (unsigned i = 0; i < g_count; ++i)
    if (g_names[i].calls && g_names[i].address != NULL) call(g_names[i].name, g_names[i].address);
  ask_all(first, second, argv[3], 1);
  // By the pointers that it answers for its own name, as cudart does.
  void* own_first = NULL;
  void* own_second = NULL;
  if (first("cuGetProcAddress", &own_first, 11030, 0) == 0 && second != NULL)
    first("cuGetProcAddress", &own_second, 12000, 0);
  ask_all((First)own_first, (Second)own_second, argv[3], 1);
  return 0;
}
