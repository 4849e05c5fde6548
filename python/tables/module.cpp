// module.cpp: the Python module hostprobe._tables: opens runs, and gives streams and schemas of their tables as capsules. What it
// is called with is checked by hostprobe/_run.py, which users see.
//
// Room 5. By pybind11. The interpreter's lock is given up wherever files are read. What the analysis and the reports say is in
// answers.h.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "answers.h"
#include "report/embedded_text.h"
#include "tables/run.h"
#include "tables/stream.h"
#include "tables/tables.h"

namespace hostprobe::tables {
namespace {

namespace py = pybind11;
using Names = std::vector<std::string>;
using OpenedRun = std::shared_ptr<Run>;

constexpr char kStreamCapsule[] = "arrow_array_stream";
constexpr char kSchemaCapsule[] = "arrow_schema";

struct HeldTrace {
  OpenedRun run;  // first: what it read goes before it
  std::shared_ptr<const OpenTrace> trace;
};

py::str text_of(std::string_view text) {
  PyObject* made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(made);
}

// What nobody took over goes with its capsule.
template <typename Structure>
py::capsule capsule_of(std::unique_ptr<Structure> structure, const char* name) {
  py::capsule made(structure.get(), name, [](PyObject* capsule) {
    auto* own = static_cast<Structure*>(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
    if (own->release != nullptr) own->release(own);
    delete own;
  });
  structure.release();
  return made;
}

// ---- runs ----

std::string path_of(const py::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(bytes);
}

// FileNotFoundError and its like, with the path. Job 0: the newest; host "": all of them.
OpenedRun open_run(const py::object& path, unsigned job, const std::string& host) {
  const std::string text = path_of(path);
  try {
    const py::gil_scoped_release without_lock;
    return std::make_shared<Run>(text, job == 0 ? std::nullopt : std::optional(job), host, answers_of_runs());
  } catch (const std::system_error& error) {
    errno = error.code().value();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, text.c_str());
    throw py::error_already_set();
  }
}

// [(path, bytes, rank or None), …]
py::list traces(const OpenedRun& run) {
  py::list all;
  for (const TraceHead& head : run->traces()) {
    const auto path = py::reinterpret_steal<py::object>(PyUnicode_DecodeFSDefault(head.path.c_str()));
    if (!path) throw py::error_already_set();
    all.append(py::make_tuple(path, head.bytes, head.rank < 0 ? py::object(py::none()) : py::int_(head.rank)));
  }
  return all;
}

// (number, how many there are)
py::tuple job(const OpenedRun& run) { return py::make_tuple(run->chosen().number, run->chosen().all.size()); }

py::list problems(const OpenedRun& run) {
  py::list all;
  for (const std::string& line : run->problems()) all.append(text_of(line));
  return all;
}

// Of a function that reads files.
template <typename Make>
py::str made_without_lock(Make make) {
  std::string text;
  {
    const py::gil_scoped_release without_lock;
    text = make();
  }
  return text_of(text);
}

py::str report(const OpenedRun& run) {
  return made_without_lock([&run] { return report_text(*run); });
}

py::str diff(const OpenedRun& a, const OpenedRun& b, std::optional<double> fail_over_pct) {
  return made_without_lock([&] { return diff_text(*a, *b, fail_over_pct); });
}

py::str explanation(const std::string& cause, const OpenedRun& run) {
  return made_without_lock([&] { return explanation_text(cause, run.get()); });
}

std::vector<std::string> causes() {
  std::vector<std::string> names;
  for (const analysis::EmbeddedText& page : analysis::cause_pages()) names.push_back(page.name);
  return names;
}

// Keeps a trace in memory until it goes, so that several tables can be made of one reading.
HeldTrace hold(const OpenedRun& run, std::size_t number) {
  if (number >= run->traces().size()) throw BadRequest("the run has no such trace");
  const py::gil_scoped_release without_lock;
  return {run, run->trace(number)};
}

// ---- tables ----

// [(name, meaning, by process, [(column, type, nullable, meaning, unit), …]), …]
py::list definitions() {
  py::list all;
  for (const Table& table : all_tables()) {
    py::list columns;
    for (const ColumnName& column : table.columns)
      columns.append(
          py::make_tuple(column.name, type_name(column.type), column.nullable, column.meaning, unit_of(column)));
    all.append(py::make_tuple(table.name, table.meaning, table.by_process, columns));
  }
  return all;
}

// The rows of traces from `begin` to before `end`; of a table that is not by process all.
py::capsule stream(const OpenedRun& run, const std::string& name, const Names& columns, std::size_t begin,
                   std::size_t end) {
  const Table& table = table_named(name);
  const std::size_t count = run->traces().size();
  const TraceRange range{std::min(begin, count), std::min(std::max(begin, end), count)};
  auto made = std::make_unique<ArrowArrayStream>();
  make_stream(run, table, columns_named(table, columns), range, made.get());
  return capsule_of(std::move(made), kStreamCapsule);
}

py::capsule schema(const OpenedRun& run, const std::string& name, const Names& columns) {
  const Table& table = table_named(name);
  auto made = std::make_unique<ArrowSchema>();
  make_schema(table, columns_named(table, columns), run->metadata(), made.get());
  return capsule_of(std::move(made), kSchemaCapsule);
}

// The names of the columns of a schema that was asked for; None: it is no table's.
py::object schema_columns(const py::object& capsule) {
  const auto* asked = static_cast<const ArrowSchema*>(PyCapsule_GetPointer(capsule.ptr(), kSchemaCapsule));
  if (asked == nullptr) throw py::error_already_set();
  if (asked->release == nullptr || asked->format == nullptr || std::string_view(asked->format) != "+s")
    return py::none();
  py::list names;
  for (std::int64_t i = 0; i < asked->n_children; ++i) {
    const char* name = asked->children[i]->name;
    names.append(text_of(name == nullptr ? "" : name));
  }
  return names;
}

void translate_system_error(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  }
}

PYBIND11_MODULE(_tables, module) {
  py::register_local_exception_translator(translate_system_error);
  py::class_<Run, OpenedRun>(module, "Run", py::module_local());
  py::class_<HeldTrace>(module, "HeldTrace", py::module_local());
  module.def("open", open_run, py::arg("path"), py::arg("job") = 0, py::arg("host") = "");
  module.def("definitions", definitions);
  module.def("stream", stream);
  module.def("schema", schema);
  module.def("schema_columns", schema_columns);
  module.def("traces", traces);
  module.def("job", job);
  module.def("problems", problems);
  module.def("start_realtime_ns", [](const OpenedRun& run) { return run->start_realtime_ns(); });
  module.def("report", report);
  module.def("diff", diff, py::arg("a"), py::arg("b"), py::arg("fail_over_pct") = std::nullopt);
  module.def("explain", explanation, py::arg("cause"), py::arg("run") = nullptr);
  module.def("causes", causes);
  module.def("hold", hold);
}

}  // namespace
}  // namespace hostprobe::tables
