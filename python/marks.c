/* marks.c: the calls of hostprobe.h as a Python module, hostprobe._marks. Steps and regions happen in a training loop, so they
 * are C functions without a wrapper. Only the stable interface of CPython is used: one file serves every version from 3.9 on.
 *
 * None of the functions raises, whatever it is given, but for a wrong number of arguments. All hold the interpreter's lock:
 * giving it up and taking it again would cost more than the call.
 */
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>

#include "hostprobe/hostprobe.h"

#pragma GCC diagnostic ignored "-Wpedantic" /* CPython keeps functions of types in void*, which ISO C does not know */

/* What every CPython since 3.7 has, unchanged, but the stable interface lists only since 3.10: arguments as an array, without
 * a tuple made for each call, and the UTF-8 that a text keeps. test_module.py loads this file into every Python it finds. */
#ifndef METH_FASTCALL
#define METH_FASTCALL 0x0080
#endif
#if Py_LIMITED_API < 0x030a0000
PyAPI_FUNC(const char*) PyUnicode_AsUTF8AndSize(PyObject* text, Py_ssize_t* bytes);
#endif
#define HP_METHOD(function) ((PyCFunction)(void (*)(void))(function))

/* Py_NewRef came with 3.10. */
static PyObject* new_ref(PyObject* object) {
  Py_INCREF(object);
  return object;
}

static atomic_ullong g_steps; /* of step() in this process, for those without a number */
static PyObject* g_said[2];   /* what step() returns */
static PyObject* g_nothing;   /* a region of a process that is not recorded */

static PyObject* active(PyObject* self, PyObject* nothing) { return PyBool_FromLong(hostprobe_active()); }
static PyObject* preloaded(PyObject* self, PyObject* nothing) {
  return PyBool_FromLong(hostprobe_find_calls() != NULL);
}
static PyObject* start(PyObject* self, PyObject* nothing) { return PyBool_FromLong(hostprobe_start()); }
static PyObject* stop(PyObject* self, PyObject* nothing) { return PyBool_FromLong(hostprobe_stop()); }

/* A text in UTF-8: of a str, or of what str() makes of another object; half of a surrogate pair becomes '?'. */
typedef struct {
  PyObject* owner; /* what `bytes` lies in, a reference of the caller's; null: there is no text, and no error is set */
  const char* bytes;
  Py_ssize_t size;
} Text;

static Text encoded(PyObject* text) {
  PyErr_Clear();
  Text out = {PyUnicode_AsEncodedString(text, "utf-8", "replace"), NULL, 0};
  if (out.owner == NULL) return PyErr_Clear(), out;
  out.bytes = PyBytes_AsString(out.owner);
  out.size = PyBytes_Size(out.owner);
  return out;
}

static Text text_of(PyObject* object) {
  Text out = {PyUnicode_Check(object) ? new_ref(object) : PyObject_Str(object), NULL, 0};
  if (out.owner == NULL) return PyErr_Clear(), out;
  out.bytes = PyUnicode_AsUTF8AndSize(out.owner, &out.size);
  if (out.bytes != NULL) return out;
  Text other = encoded(out.owner);
  Py_DECREF(out.owner);
  return other;
}

/* Puts what a call was given into `out`, in the order of `names`, which ends with null; what is not given stays as it is. 0: it
 * fits no call, and a TypeError is set. Keyword arguments are rare, so only they are looked at by name. */
static int take_arguments(const char* function, const char* const* names, PyObject* const* given, Py_ssize_t count,
                          PyObject* keywords, PyObject** out) {
  Py_ssize_t known = 0;
  while (names[known] != NULL) ++known;
  if (count > known)
    return PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments (%zd given)", function, known, count), 0;
  for (Py_ssize_t i = 0; i < count; ++i) out[i] = given[i];
  for (Py_ssize_t i = 0, n = keywords == NULL ? 0 : PyTuple_Size(keywords); i < n; ++i) {
    PyObject* keyword = PyTuple_GetItem(keywords, i);
    Py_ssize_t place = 0;
    while (place < known && PyUnicode_CompareWithASCIIString(keyword, names[place]) != 0) ++place;
    if (place == known || out[place] != NULL)
      return PyErr_Format(PyExc_TypeError, "%s() got an unexpected argument '%U'", function, keyword), 0;
    out[place] = given[count + i];
  }
  return 1;
}

static PyObject* trigger(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  static const char* const kNames[] = {"why", NULL};
  PyObject* why = NULL;
  if (!take_arguments("trigger", kNames, given, count, keywords, &why)) return NULL;
  Text text = {NULL, NULL, 0};
  if (why != NULL) text = text_of(why);
  char kept[96]; /* a NUL would end the text for C */
  Py_ssize_t length = text.size < (Py_ssize_t)sizeof kept - 1 ? text.size : (Py_ssize_t)sizeof kept - 1;
  for (Py_ssize_t i = 0; i < length; ++i) kept[i] = text.bytes[i] == 0 ? ' ' : text.bytes[i];
  kept[length] = 0;
  Py_XDECREF(text.owner);
  return PyBool_FromLong(hostprobe_trigger(kept));
}

/* 0: it is no number. */
static int number_of(PyObject* object, unsigned long long* number) {
  PyObject* whole = PyLong_Check(object) ? new_ref(object) : PyNumber_Long(object);
  if (whole == NULL) return PyErr_Clear(), 0;
  *number = PyLong_AsUnsignedLongLongMask(whole); /* of a whole number: cannot fail */
  Py_DECREF(whole);
  return 1;
}

static PyObject* step(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  static const char* const kNames[] = {"number", NULL};
  PyObject* named = NULL;
  if (!take_arguments("step", kNames, given, count, keywords, &named)) return NULL;
  unsigned long long counted = atomic_fetch_add_explicit(&g_steps, 1, memory_order_relaxed), number = counted;
  if (hostprobe_find_calls() == NULL) return new_ref(g_said[0]);
  if (named != NULL && named != Py_None && !number_of(named, &number)) number = counted;
  return new_ref(g_said[hostprobe_step(number) != 0]);
}

static PyObject* restart_numbers(PyObject* self, PyObject* nothing) {
  atomic_store_explicit(&g_steps, 0, memory_order_relaxed);
  return new_ref(Py_None);
}

static PyObject* mark(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  static const char* const kNames[] = {"name", "value", NULL};
  PyObject* named[2] = {NULL, NULL};
  if (!take_arguments("mark", kNames, given, count, keywords, named)) return NULL;
  if (named[0] == NULL || named[1] == NULL)
    return PyErr_SetString(PyExc_TypeError, "mark() takes a name and a value"), NULL;
  if (hostprobe_find_calls() == NULL) return new_ref(Py_False);
  double value = PyFloat_AsDouble(named[1]);
  if (value == -1.0 && PyErr_Occurred() != NULL) return PyErr_Clear(), new_ref(Py_False);
  Text name = text_of(named[0]);
  int marked = name.owner != NULL && hostprobe_mark(name.bytes, value);
  Py_XDECREF(name.owner);
  return new_ref(marked ? Py_True : Py_False);
}

/* What step() returns: 1 or 0, equal to True or False, and good for a with statement. Its end needs no object, so it is a plain
 * function in the type: a with statement then makes no bound method for it. */
static PyObject* enter_step(PyObject* self, PyObject* nothing) { return new_ref(self); }
static PyObject* leave_step(PyObject* self, PyObject* const* error, Py_ssize_t count) {
  hostprobe_end_step();
  return new_ref(Py_None);
}
static PyObject* text_of_step(PyObject* self) { return PyObject_Repr(PyObject_IsTrue(self) ? Py_True : Py_False); }
static PyMethodDef g_leave_step = {"__exit__", HP_METHOD(leave_step), METH_FASTCALL, NULL};
static PyMethodDef g_step_methods[] = {{"__enter__", enter_step, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot g_step_slots[] = {{Py_tp_methods, g_step_methods}, {Py_tp_repr, text_of_step}, {0, NULL}};
static PyType_Spec g_step_spec = {"hostprobe._marks.Step", 0, 0, Py_TPFLAGS_DEFAULT, g_step_slots};

/* A region where nothing is recorded: there is one, and both ends are plain functions. */
static PyObject* enter_nothing(PyObject* self, PyObject* nothing) { return new_ref(g_nothing); }
static PyObject* leave_nothing(PyObject* self, PyObject* const* error, Py_ssize_t count) { return new_ref(Py_None); }
static PyMethodDef g_enter_nothing = {"__enter__", enter_nothing, METH_NOARGS, NULL};
static PyMethodDef g_leave_nothing = {"__exit__", HP_METHOD(leave_nothing), METH_FASTCALL, NULL};
static PyType_Slot g_nothing_slots[] = {{0, NULL}};
static PyType_Spec g_nothing_spec = {"hostprobe._marks.NoRegion", 0, 0, Py_TPFLAGS_DEFAULT, g_nothing_slots};

typedef struct {
  PyObject_HEAD Text name; /* without an owner: nothing is recorded */
  uint64_t begun;
} Region;

static PyObject* enter_region(PyObject* self, PyObject* nothing) {
  Region* region = (Region*)self;
  if (region->name.owner != NULL) region->begun = hostprobe_begin_region(region->name.bytes).begun;
  return new_ref(self);
}
static PyObject* leave_region(PyObject* self, PyObject* const* error, Py_ssize_t count) {
  Region* region = (Region*)self;
  if (region->begun != 0) {
    struct hostprobe_region ended = {region->name.bytes, region->begun};
    region->begun = 0;
    hostprobe_end_region(ended);
  }
  return new_ref(Py_None);
}
static void delete_region(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((Region*)self)->name.owner);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}
static PyMethodDef g_region_methods[] = {{"__enter__", enter_region, METH_NOARGS, NULL},
                                         {"__exit__", HP_METHOD(leave_region), METH_FASTCALL, NULL},
                                         {NULL, NULL, 0, NULL}};
static PyType_Slot g_region_slots[] = {{Py_tp_methods, g_region_methods}, {Py_tp_dealloc, delete_region}, {0, NULL}};
static PyType_Spec g_region_spec = {"hostprobe._marks.Region", sizeof(Region), 0, Py_TPFLAGS_DEFAULT, g_region_slots};
static PyObject* g_region_type;

static PyObject* region(PyObject* self, PyObject* name) {
  if (hostprobe_find_calls() == NULL) return new_ref(g_nothing);
  PyObject* made = PyType_GenericAlloc((PyTypeObject*)g_region_type, 0);
  if (made != NULL) ((Region*)made)->name = text_of(name);
  return made;
}

static PyMethodDef g_functions[] = {
    {"active", active, METH_NOARGS,
     "active()\n--\n\nWhether calls of this process are being recorded now: not before a first call makes it a target, "
     "during a\n"
     "pause, or without the library."},
    {"start", start, METH_NOARGS,
     "start()\n--\n\nGoes on recording in this process after stop(). True: it records now. False: this process is not "
     "recorded."},
    {"stop", stop, METH_NOARGS,
     "stop()\n--\n\nPauses recording in this process, all threads. True: it pauses now. False: this process is not "
     "recorded."},
    {"trigger", HP_METHOD(trigger), METH_FASTCALL | METH_KEYWORDS,
     "trigger(why=\"\")\n--\n\nAsks for the last seconds to be written out, for the reason `why`, of which the first "
     "95 bytes\n"
     "are kept.\n\nTrue: hostprobe's own thread will do it within a quarter of a second. False: an earlier request "
     "waits\n"
     "for that thread, the mode keeps nothing back, or nothing is recorded. Dumps have a least distance from each\n"
     "other, HOSTPROBE_TRIGGER_S."},
    {"step", HP_METHOD(step), METH_FASTCALL | METH_KEYWORDS,
     "step(number=None)\n--\n\nSays that a training step ends here; once per step, always by the same thread at the "
     "same place.\n"
     "The time since the call before is the step.\n\n`number`: a whole number (anything that int() takes), kept to its "
     "low\n"
     "64 bits; without one, or with something that is none, calls of this process are counted from 0. Returns 1, "
     "which\n"
     "equals True: the step was recorded. 0: it was not, like the first call. A step that takes "
     "HOSTPROBE_SLOW_STEP_PCT\n"
     "percent of the median of those before asks for a dump, as trigger() does.\n\n`with step(number):` is a step from "
     "the\n"
     "begin of the block to its end; what lies between two such blocks belongs to no step."},
    {"mark", HP_METHOD(mark), METH_FASTCALL | METH_KEYWORDS,
     "mark(name, value)\n--\n\nRecords the number `value` (anything that float() takes) at this moment, as `name`: a "
     "loss, a\n"
     "queue's length. True: it was recorded. False: it was not, or `value` is no number."},
    {"region", region, METH_O,
     "region(name)\n--\n\nA part of this thread's time, from the begin of the with block to its end, as `name`. "
     "Regions may\n"
     "lie inside each other. Use a region once at a time; threads make their own. One that a process does not end "
     "leaves\n"
     "no record."},
    {"preloaded", preloaded, METH_NOARGS,
     "preloaded()\n--\n\nWhether libhostprobe.so is in this process, recording or not."},
    {"restart_numbers", restart_numbers, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "hostprobe._marks", NULL, -1, g_functions, NULL, NULL, NULL, NULL};

static int add_function(PyObject* type, PyMethodDef* method) {
  PyObject* function = PyCFunction_NewEx(method, NULL, NULL);
  int failed = function == NULL || PyObject_SetAttrString(type, method->ml_name, function) != 0;
  Py_XDECREF(function);
  return !failed;
}

static int make_steps(void) {
  PyObject* bases = PyTuple_Pack(1, (PyObject*)&PyLong_Type);
  PyObject* type = bases == NULL ? NULL : PyType_FromSpecWithBases(&g_step_spec, bases);
  Py_XDECREF(bases);
  if (type == NULL || !add_function(type, &g_leave_step)) return 0;
  for (int i = 0; i < 2; ++i) g_said[i] = PyObject_CallFunction(type, "i", i);
  Py_DECREF(type);
  return g_said[0] != NULL && g_said[1] != NULL;
}

static int make_nothing(void) {
  PyObject* type = PyType_FromSpec(&g_nothing_spec);
  if (type == NULL || !add_function(type, &g_enter_nothing) || !add_function(type, &g_leave_nothing)) return 0;
  g_nothing = PyType_GenericAlloc((PyTypeObject*)type, 0);
  Py_DECREF(type);
  return g_nothing != NULL;
}

/* Types and constants; once in a process, also where sub-interpreters import it again. */
static int make_objects(void) {
  if (g_nothing != NULL) return 1;
  g_region_type = PyType_FromSpec(&g_region_spec);
  return g_region_type != NULL && make_steps() && make_nothing();
}

PyMODINIT_FUNC PyInit__marks(void) { return make_objects() ? PyModule_Create(&g_module) : NULL; }
