// python_calls.h: functions of the Python interpreter in this process, as its stable interface has them.
//
// Room 2 (probe/), cold. Found by their names in the loaded objects: nothing of the interpreter is compiled in, and one library
// serves CPython 3.8 and later. Source: the C API reference of CPython, "Stable Application Binary Interface".
#pragma once

namespace hostprobe::probe {

struct PythonObject;
using PythonFunction = PythonObject* (*)(PythonObject* self, PythonObject* arguments);

// PyMethodDef.
struct PythonMethod {
  const char* name;
  PythonFunction function;
  int flags;
  const char* text;
};
inline constexpr int kTakesTuple = 1;   // METH_VARARGS
inline constexpr int kFileInput = 257;  // Py_file_input

// Each under the name in the comment. Those that make an object give a new reference, but for "borrowed".
struct PythonCalls {
  int (*is_initialized)();                                 // Py_IsInitialized: any thread
  int (*is_finalizing)();                                  // Py_IsFinalizing: any thread
  int (*add_pending)(int (*)(void*), void*);               // Py_AddPendingCall: any thread; 0: it will be called
  PythonObject* (*import)(const char*);                    // PyImport_ImportModule
  PythonObject* (*modules)();                              // PyImport_GetModuleDict, borrowed
  PythonObject* (*builtins)();                             // PyEval_GetBuiltins, borrowed
  PythonObject* (*attribute)(PythonObject*, const char*);  // PyObject_GetAttrString
  PythonObject* (*call)(PythonObject*, ...);               // PyObject_CallFunctionObjArgs, ends with null
  PythonObject* (*function)(PythonMethod*, PythonObject* self, PythonObject* module);     // PyCFunction_NewEx
  PythonObject* (*compile)(const char* text, const char* file, int start);                // Py_CompileString
  PythonObject* (*evaluate)(PythonObject*, PythonObject* globals, PythonObject* locals);  // PyEval_EvalCode
  PythonObject* (*dict)();                                                                // PyDict_New
  int (*put)(PythonObject*, const char*, PythonObject*);                                  // PyDict_SetItemString
  PythonObject* (*look_up)(PythonObject*, const char*);  // PyDict_GetItemString, borrowed
  PythonObject* (*item)(PythonObject*, long);            // PyTuple_GetItem, borrowed
  int (*insert)(PythonObject*, long, PythonObject*);     // PyList_Insert
  PythonObject* (*value)(const char*, ...);              // Py_BuildValue; of "": None
  long (*number)(PythonObject*);                         // PyLong_AsLong
  int (*compare)(PythonObject*, const char*);            // PyUnicode_CompareWithASCIIString
  const char* (*text)(PythonObject*, long* bytes);       // PyUnicode_AsUTF8AndSize
  void (*drop)(PythonObject*);                           // Py_DecRef
  void (*clear_error)();                                 // PyErr_Clear

  // What is there of them; null stands for what could not be made.
  template <class... Objects>
  void drop_all(Objects*... objects) const {
    ((objects == nullptr ? void() : drop(objects)), ...);
  }
};

// Writer thread, within a LoaderVisit. False: there is no interpreter, or one that lacks some of them.
bool find_python_calls(PythonCalls& out);

}  // namespace hostprobe::probe
