// module.cpp: the Python module hostprobe._tables: opens runs, and gives streams and schemas of their tables as capsules. What it
// is called with is checked by hostprobe/_run.py, which users see.
//
// Room 5. Only the stable interface of CPython is used, as in marks.c. The interpreter's lock is given up wherever files are read.
#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <functional>
#include <system_error>

#include "report/json/json.h"
#include "report/version.h"
#include "stream.h"

namespace hostprobe::tables {
namespace {

constexpr char kRunCapsule[] = "hostprobe_run";
constexpr char kTraceCapsule[] = "hostprobe_trace";
constexpr char kStreamCapsule[] = "arrow_array_stream";
constexpr char kSchemaCapsule[] = "arrow_schema";

// Null, with a Python error, where `work` throws.
template <typename Work>
PyObject* guarded(Work work) {
  try {
    return work();
  } catch (const std::system_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const BadRequest& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  ~WithoutLock() { PyEval_RestoreThread(state_); }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* state_;
};

struct HeldTrace {
  std::shared_ptr<Run> run;  // first: what it read goes before it
  std::shared_ptr<const OpenTrace> trace;
};

using RunHolder = std::shared_ptr<Run>;

template <typename Held>
void delete_held(PyObject* capsule) {
  delete static_cast<Held*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
}

// What nobody took over goes with its capsule.
template <typename Structure>
void release_structure(PyObject* capsule) {
  auto* structure = static_cast<Structure*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  if (structure->release != nullptr) structure->release(structure);
  delete structure;
}

template <typename Held>
PyObject* capsule_of(std::unique_ptr<Held> held, const char* name, PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(held.get(), name, destructor);
  if (capsule != nullptr) held.release();
  return capsule;
}

const RunHolder* run_of(PyObject* capsule) {
  return static_cast<const RunHolder*>(PyCapsule_GetPointer(capsule, kRunCapsule));
}

PyObject* text_of(std::string_view text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

// A new list of what `make` gives for each; `make` returns new references.
template <typename All, typename Make>
PyObject* list_of(const All& all, Make make) {
  PyObject* list = PyList_New(0);
  for (const auto& one : all) {
    PyObject* made = list == nullptr ? nullptr : make(one);
    const bool added = made != nullptr && PyList_Append(list, made) == 0;
    Py_XDECREF(made);
    if (!added) Py_CLEAR(list);
  }
  return list;
}

// ---- functions ----

PyObject* opened(const std::string& path, std::optional<unsigned> job) {
  auto holder = std::make_unique<RunHolder>();
  {
    const WithoutLock without;
    *holder = std::make_shared<Run>(path, job);
  }
  return capsule_of(std::move(holder), kRunCapsule, delete_held<RunHolder>);
}

// FileNotFoundError and its like, with the path.
PyObject* open_run(PyObject*, PyObject* arguments) {
  PyObject* path = nullptr;
  unsigned number = 0;  // the newest
  if (!PyArg_ParseTuple(arguments, "O&|I:open", PyUnicode_FSConverter, &path, &number)) return nullptr;
  PyObject* made = guarded([path, number]() -> PyObject* {
    const std::string text = PyBytes_AsString(path);
    try {
      return opened(text, number == 0 ? std::nullopt : std::optional(number));
    } catch (const std::system_error& error) {
      errno = error.code().value();
      return PyErr_SetFromErrnoWithFilename(PyExc_OSError, text.c_str());
    }
  });
  Py_DECREF(path);
  return made;
}

// [(name, meaning, by process, [(column, type, nullable, meaning), …]), …]
PyObject* definitions(PyObject*, PyObject*) {
  return list_of(table_names(), [](const TableName& table) -> PyObject* {
    PyObject* columns = list_of(table.columns, [](const ColumnName& column) {
      return Py_BuildValue("(NsON)", text_of(column.name), type_name(column.type), column.nullable ? Py_True : Py_False,
                           text_of(column.meaning));
    });
    if (columns == nullptr) return nullptr;
    return Py_BuildValue("(NNON)", text_of(table.name), text_of(table.meaning), table.by_process ? Py_True : Py_False,
                         columns);
  });
}

// False, with a Python error.
bool names_of(PyObject* list, std::vector<std::string>& names) {
  const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
  if (count < 0) PyErr_SetString(PyExc_TypeError, "columns must be a list");
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* text = PyUnicode_AsUTF8String(PyList_GetItem(list, i));
    if (text == nullptr) return false;
    names.emplace_back(PyBytes_AsString(text), static_cast<std::size_t>(PyBytes_Size(text)));
    Py_DECREF(text);
  }
  return count >= 0;
}

struct Request {
  const RunHolder* run = nullptr;
  const TableName* table = nullptr;
  std::vector<std::size_t> columns;
};

// Null, with a Python error; else what `work(request)` returns.
template <typename Work>
PyObject* with_request(PyObject* capsule, const char* table, PyObject* columns, Work work) {
  Request request;
  std::vector<std::string> names;
  request.run = run_of(capsule);
  if (request.run == nullptr || !names_of(columns, names)) return nullptr;
  return guarded([&] {
    request.table = &table_named(table);
    request.columns = columns_named(*request.table, names);
    return work(request);
  });
}

PyObject* stream(PyObject*, PyObject* arguments) {
  PyObject *capsule, *columns;
  const char* table;
  Py_ssize_t begin, end;
  if (!PyArg_ParseTuple(arguments, "OsOnn:stream", &capsule, &table, &columns, &begin, &end)) return nullptr;
  return with_request(capsule, table, columns, [&](const Request& request) {
    const std::size_t traces = (*request.run)->traces().size();
    const auto within = [traces](Py_ssize_t place) {
      return place < 0 ? std::size_t{0} : std::min(static_cast<std::size_t>(place), traces);
    };
    const TraceRange range{within(begin), std::max(within(begin), within(end))};
    auto made = std::make_unique<ArrowArrayStream>();
    make_stream(*request.run, *request.table, request.columns, range, made.get());
    return capsule_of(std::move(made), kStreamCapsule, release_structure<ArrowArrayStream>);
  });
}

PyObject* schema(PyObject*, PyObject* arguments) {
  PyObject *capsule, *columns;
  const char* table;
  if (!PyArg_ParseTuple(arguments, "OsO:schema", &capsule, &table, &columns)) return nullptr;
  return with_request(capsule, table, columns, [&](const Request& request) {
    auto made = std::make_unique<ArrowSchema>();
    make_schema(*request.table, request.columns, (*request.run)->metadata(), made.get());
    return capsule_of(std::move(made), kSchemaCapsule, release_structure<ArrowSchema>);
  });
}

// The names of the columns of somebody's schema; None where it is no struct.
PyObject* schema_columns(PyObject*, PyObject* capsule) {
  const auto* asked = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(capsule, kSchemaCapsule));
  if (asked == nullptr) return nullptr;
  if (asked->release == nullptr || asked->format == nullptr || std::string_view(asked->format) != "+s")
    return Py_BuildValue("");
  return list_of(std::vector<const ArrowSchema*>(asked->children, asked->children + asked->n_children),
                 [](const ArrowSchema* child) { return text_of(child->name == nullptr ? "" : child->name); });
}

// [(path, bytes, rank or None), …]
PyObject* traces(PyObject*, PyObject* capsule) {
  const RunHolder* run = run_of(capsule);
  if (run == nullptr) return nullptr;
  return list_of((*run)->traces(), [](const TraceHead& head) -> PyObject* {
    PyObject* path = PyUnicode_DecodeFSDefault(head.path.c_str());
    PyObject* rank = head.rank < 0 ? Py_BuildValue("") : PyLong_FromLong(head.rank);
    if (path == nullptr || rank == nullptr) return nullptr;
    return Py_BuildValue("(NKN)", path, static_cast<unsigned long long>(head.bytes), rank);
  });
}

// (number, how many there are)
PyObject* job(PyObject*, PyObject* capsule) {
  const RunHolder* run = run_of(capsule);
  if (run == nullptr) return nullptr;
  const analysis::ChosenJob& chosen = (*run)->chosen();
  return Py_BuildValue("(nn)", static_cast<Py_ssize_t>(chosen.number), static_cast<Py_ssize_t>(chosen.all.size()));
}

PyObject* problems(PyObject*, PyObject* capsule) {
  const RunHolder* run = run_of(capsule);
  return run == nullptr ? nullptr : list_of((*run)->problems(), [](const std::string& line) { return text_of(line); });
}

PyObject* start_realtime_ns(PyObject*, PyObject* capsule) {
  const RunHolder* run = run_of(capsule);
  return run == nullptr ? nullptr : PyLong_FromUnsignedLongLong((*run)->start_realtime_ns());
}

PyObject* report(PyObject*, PyObject* capsule) {
  const RunHolder* run = run_of(capsule);
  if (run == nullptr) return nullptr;
  return guarded([&] {
    std::string text;
    {
      const WithoutLock without;
      text = analysis::report_json((*run)->answer()->run);
    }
    return text_of(text);
  });
}

// Keeps a trace in memory until the capsule goes, so that several tables can be made of one reading.
PyObject* hold(PyObject*, PyObject* arguments) {
  PyObject* capsule;
  Py_ssize_t number;
  if (!PyArg_ParseTuple(arguments, "On:hold", &capsule, &number)) return nullptr;
  const RunHolder* run = run_of(capsule);
  if (run == nullptr) return nullptr;
  return guarded([&] {
    auto held = std::make_unique<HeldTrace>();
    held->run = *run;
    if (number < 0 || static_cast<std::size_t>(number) >= held->run->traces().size())
      throw BadRequest("the run has no such trace");
    {
      const WithoutLock without;
      held->trace = held->run->trace(static_cast<std::size_t>(number));
    }
    return capsule_of(std::move(held), kTraceCapsule, delete_held<HeldTrace>);
  });
}

PyMethodDef g_functions[] = {{"open", open_run, METH_VARARGS, nullptr},
                             {"definitions", definitions, METH_NOARGS, nullptr},
                             {"stream", stream, METH_VARARGS, nullptr},
                             {"schema", schema, METH_VARARGS, nullptr},
                             {"schema_columns", schema_columns, METH_O, nullptr},
                             {"traces", traces, METH_O, nullptr},
                             {"job", job, METH_O, nullptr},
                             {"problems", problems, METH_O, nullptr},
                             {"start_realtime_ns", start_realtime_ns, METH_O, nullptr},
                             {"report", report, METH_O, nullptr},
                             {"hold", hold, METH_VARARGS, nullptr},
                             {nullptr, nullptr, 0, nullptr}};

PyModuleDef g_module = {
    PyModuleDef_HEAD_INIT, "hostprobe._tables", nullptr, -1, g_functions, nullptr, nullptr, nullptr, nullptr};

}  // namespace
}  // namespace hostprobe::tables

PyMODINIT_FUNC PyInit__tables(void) { return PyModule_Create(&hostprobe::tables::g_module); }
