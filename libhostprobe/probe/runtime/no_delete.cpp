// no_delete.cpp: the operator delete that the queue's virtual destructors mention, in a library without libstdc++, and the
// handle that the compiler's start files would bring.
//
// Room 2 (probe/). Nothing of ours is ever deleted, so these are never called. exports.map keeps them inside: the program
// has its own. Not part of the objects under unit tests, whose programs have one too.
#include <cstddef>

#include "probe/runtime/of_process.h"

void operator delete(void*) noexcept {}
void operator delete(void*, std::size_t) noexcept {}

// Of a library that is linked without the compiler's start files: the destructors they bring cost every process two pages.
extern "C" {
HP_KEPT_BY_CHILDREN __attribute__((visibility("hidden"))) void* __dso_handle = nullptr;
}
