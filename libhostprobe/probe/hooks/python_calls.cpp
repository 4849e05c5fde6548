// python_calls.cpp: see python_calls.h.
#include "probe/hooks/python_calls.h"

#include <string.h>

#include "probe/intercept/loader.h"
#include "probe/stacks/python_symbols.h"

namespace hostprobe::probe {
namespace {

// By their places in PythonCalls. The second name is what the function was called before CPython 3.13.
struct Name {
  char name[36], before[20];
};
constexpr Name kNames[] = {{"Py_IsInitialized", ""},
                           {"Py_IsFinalizing", "_Py_IsFinalizing"},
                           {"Py_AddPendingCall", ""},
                           {"PyImport_ImportModule", ""},
                           {"PyImport_GetModuleDict", ""},
                           {"PyEval_GetBuiltins", ""},
                           {"PyObject_GetAttrString", ""},
                           {"PyObject_CallFunctionObjArgs", ""},
                           {"PyCFunction_NewEx", ""},
                           {"Py_CompileString", ""},
                           {"PyEval_EvalCode", ""},
                           {"PyDict_New", ""},
                           {"PyDict_SetItemString", ""},
                           {"PyDict_GetItemString", ""},
                           {"PyTuple_GetItem", ""},
                           {"PyList_Insert", ""},
                           {"Py_BuildValue", ""},
                           {"PyLong_AsLong", ""},
                           {"PyUnicode_CompareWithASCIIString", ""},
                           {"PyUnicode_AsUTF8AndSize", ""},
                           {"Py_DecRef", ""},
                           {"PyErr_Clear", ""}};
constexpr unsigned kCount = sizeof kNames / sizeof kNames[0];
static_assert(sizeof(PythonCalls) == kCount * sizeof(void*));

struct Search {
  std::uint64_t found[kCount];
  unsigned missing;
  char home[1024];
};

// An interpreter is in one object. A later one (a second libpython, in a plug-in) is left alone.
int search(dl_phdr_info* object, std::size_t, void* argument) {
  auto& out = *static_cast<Search*>(argument);
  Exports exports;
  if (!exports_of(*object, exports) || address_of(exports, kNames[2].name) == 0) return 0;
  out.missing = 0;
  for (unsigned i = 0; i < kCount; ++i) {
    out.found[i] = address_of(exports, kNames[i].name);
    if (out.found[i] == 0 && kNames[i].before[0] != 0) out.found[i] = address_of(exports, kNames[i].before);
    if (out.found[i] == 0) ++out.missing;
  }
  strncpy(out.home, object->dlpi_name, sizeof out.home - 1);
  return 1;
}

}  // namespace

bool find_python_calls(PythonCalls& out) {
  Search search_{{}, kCount, {}};
  if (each_object(search, &search_) == 0 || search_.missing != 0 || !stays_loaded(search_.home)) return false;
  memcpy(&out, search_.found, sizeof out);
  return true;
}

}  // namespace hostprobe::probe
