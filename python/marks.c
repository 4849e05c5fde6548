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

/* Py_NewRef came with 3.10. */
static PyObject* new_ref(PyObject* object) {
  Py_INCREF(object);
  return object;
}

static atomic_ullong g_steps; /* of step() in this process, for those without a number */
static PyObject* g_said[2];   /* what step() returns */
static PyObject* g_nothing;   /* a region of a process that is not recorded */

static PyObject* active(PyObject* self, PyObject* nothing) { return PyBool_FromLong(hostprobe_active()); }
static PyObject* start(PyObject* self, PyObject* nothing) { return PyBool_FromLong(hostprobe_start()); }
static PyObject* stop(PyObject* self, PyObject* nothing) { return PyBool_FromLong(hostprobe_stop()); }

/* UTF-8 of a text, or of what str() makes of another object; half of a surrogate pair becomes '?'. A new reference to bytes, or
 * null: there is no text, and no error is set. */
static PyObject* utf8_of(PyObject* object) {
  PyObject* text = PyUnicode_Check(object) ? new_ref(object) : PyObject_Str(object);
  PyObject* bytes = text == NULL ? NULL : PyUnicode_AsEncodedString(text, "utf-8", "replace");
  Py_XDECREF(text);
  if (bytes == NULL) PyErr_Clear();
  return bytes;
}

static PyObject* trigger(PyObject* self, PyObject* arguments, PyObject* names) {
  static char* kNames[] = {"why", NULL};
  PyObject* why = NULL;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|O:trigger", kNames, &why)) return NULL;
  PyObject* bytes = why == NULL ? NULL : utf8_of(why);
  char* text = bytes == NULL ? NULL : PyBytes_AsString(bytes);
  Py_ssize_t size = bytes == NULL ? 0 : PyBytes_Size(bytes);
  char kept[96]; /* a NUL would end the text for C */
  Py_ssize_t length = size < (Py_ssize_t)sizeof kept - 1 ? size : (Py_ssize_t)sizeof kept - 1;
  for (Py_ssize_t i = 0; i < length; ++i) kept[i] = text[i] == 0 ? ' ' : text[i];
  kept[length] = 0;
  Py_XDECREF(bytes);
  return PyBool_FromLong(hostprobe_trigger(kept));
}

/* 0: it is no number. */
static int number_of(PyObject* object, unsigned long long* number) {
  PyObject* whole = PyLong_Check(object) ? new_ref(object) : PyNumber_Long(object);
  if (whole != NULL) {
    *number = PyLong_AsUnsignedLongLongMask(whole);
    Py_DECREF(whole);
  }
  int failed = PyErr_Occurred() != NULL;
  PyErr_Clear();
  return !failed;
}

static PyObject* step(PyObject* self, PyObject* arguments, PyObject* names) {
  static char* kNames[] = {"number", NULL};
  PyObject* given = NULL;
  if (!PyArg_ParseTupleAndKeywords(arguments, names, "|O:step", kNames, &given)) return NULL;
  unsigned long long counted = atomic_fetch_add_explicit(&g_steps, 1, memory_order_relaxed), number = counted;
  if (given != NULL && given != Py_None && !number_of(given, &number)) number = counted;
  return new_ref(g_said[hostprobe_step(number) != 0]);
}

static PyObject* restart_numbers(PyObject* self, PyObject* nothing) {
  atomic_store_explicit(&g_steps, 0, memory_order_relaxed);
  return new_ref(Py_None);
}

static PyObject* mark(PyObject* self, PyObject* arguments) {
  PyObject *name, *number;
  if (!PyArg_ParseTuple(arguments, "OO:mark", &name, &number)) return NULL;
  if (hostprobe_find_calls() == NULL) return new_ref(Py_False);
  double value = PyFloat_AsDouble(number);
  PyObject* text = PyErr_Occurred() ? NULL : utf8_of(name);
  PyErr_Clear();
  int marked = text != NULL && hostprobe_mark(PyBytes_AsString(text), value);
  Py_XDECREF(text);
  return PyBool_FromLong(marked);
}

/* What step() returns: 1 or 0, equal to True or False, and good for a with statement. */
static PyObject* enter_step(PyObject* self, PyObject* nothing) { return new_ref(self); }
static PyObject* leave_step(PyObject* self, PyObject* error) {
  hostprobe_end_step();
  return new_ref(Py_None);
}
static PyObject* text_of_step(PyObject* self) { return PyObject_Repr(PyObject_IsTrue(self) ? Py_True : Py_False); }
static PyMethodDef g_step_methods[] = {
    {"__enter__", enter_step, METH_NOARGS, NULL}, {"__exit__", leave_step, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyType_Slot g_step_slots[] = {{Py_tp_methods, g_step_methods}, {Py_tp_repr, text_of_step}, {0, NULL}};
static PyType_Spec g_step_spec = {"hostprobe._marks.Step", 0, 0, Py_TPFLAGS_DEFAULT, g_step_slots};

typedef struct {
  PyObject_HEAD PyObject* name; /* bytes; null: nothing is recorded */
  uint64_t begun;
} Region;

static PyObject* enter_region(PyObject* self, PyObject* nothing) {
  Region* region = (Region*)self;
  if (region->name != NULL) region->begun = hostprobe_begin_region(PyBytes_AsString(region->name)).begun;
  return new_ref(self);
}
static PyObject* leave_region(PyObject* self, PyObject* error) {
  Region* region = (Region*)self;
  if (region->begun != 0) {
    struct hostprobe_region ended = {PyBytes_AsString(region->name), region->begun};
    region->begun = 0;
    hostprobe_end_region(ended);
  }
  return new_ref(Py_None);
}
static void delete_region(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(((Region*)self)->name);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}
static PyMethodDef g_region_methods[] = {{"__enter__", enter_region, METH_NOARGS, NULL},
                                         {"__exit__", leave_region, METH_VARARGS, NULL},
                                         {NULL, NULL, 0, NULL}};
static PyType_Slot g_region_slots[] = {{Py_tp_methods, g_region_methods}, {Py_tp_dealloc, delete_region}, {0, NULL}};
static PyType_Spec g_region_spec = {"hostprobe._marks.Region", sizeof(Region), 0, Py_TPFLAGS_DEFAULT, g_region_slots};
static PyObject* g_region_type;

static PyObject* region(PyObject* self, PyObject* name) {
  if (hostprobe_find_calls() == NULL) return new_ref(g_nothing);
  PyObject* made = PyType_GenericAlloc((PyTypeObject*)g_region_type, 0);
  if (made != NULL) ((Region*)made)->name = utf8_of(name);
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
    {"trigger", (PyCFunction)(void (*)(void))trigger, METH_VARARGS | METH_KEYWORDS,
     "trigger(why=\"\")\n--\n\nAsks for the last seconds to be written out, for the reason `why`, of which the first "
     "95 bytes\n"
     "are kept.\n\nTrue: hostprobe's own thread will do it within a quarter of a second. False: an earlier request "
     "waits\n"
     "for that thread, the mode keeps nothing back, or nothing is recorded. Dumps have a least distance from each\n"
     "other, HOSTPROBE_TRIGGER_S."},
    {"step", (PyCFunction)(void (*)(void))step, METH_VARARGS | METH_KEYWORDS,
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
    {"mark", mark, METH_VARARGS,
     "mark(name, value)\n--\n\nRecords the number `value` (anything that float() takes) at this moment, as `name`: a "
     "loss, a\n"
     "queue's length. True: it was recorded. False: it was not, or `value` is no number."},
    {"region", region, METH_O,
     "region(name)\n--\n\nA part of this thread's time, from the begin of the with block to its end, as `name`. "
     "Regions may\n"
     "lie inside each other. Use a region once at a time; threads make their own. One that a process does not end "
     "leaves\n"
     "no record."},
    {"restart_numbers", restart_numbers, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "hostprobe._marks", NULL, -1, g_functions, NULL, NULL, NULL, NULL};

/* Types and constants; once in a process, also where sub-interpreters import it again. */
static int make_objects(void) {
  if (g_nothing != NULL) return 1;
  PyObject* bases = PyTuple_Pack(1, (PyObject*)&PyLong_Type);
  PyObject* step_type = bases == NULL ? NULL : PyType_FromSpecWithBases(&g_step_spec, bases);
  Py_XDECREF(bases);
  g_region_type = PyType_FromSpec(&g_region_spec);
  if (step_type == NULL || g_region_type == NULL) return 0;
  for (int i = 0; i < 2; ++i) g_said[i] = PyObject_CallFunction(step_type, "i", i);
  Py_DECREF(step_type);
  if (g_said[0] == NULL || g_said[1] == NULL) return 0;
  g_nothing = PyType_GenericAlloc((PyTypeObject*)g_region_type, 0);
  return g_nothing != NULL;
}

PyMODINIT_FUNC PyInit__marks(void) { return make_objects() ? PyModule_Create(&g_module) : NULL; }
