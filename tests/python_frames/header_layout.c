/* Compiled with -DLAYOUT=<name> against one interpreter's headers; see header_layout.h. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#define FRAME struct _PyInterpreterFrame
#else
#define FRAME struct _frame
#endif
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#include <internal/pycore_runtime.h>
#elif PY_VERSION_HEX >= 0x03080000
#include <internal/pycore_pystate.h>
#endif
#include "header_layout.h"

const struct HeaderLayout LAYOUT = {
    .hex = PY_VERSION_HEX,
    .object_type = offsetof(PyObject, ob_type),
    .bytes_length = offsetof(PyVarObject, ob_size),
    .bytes_start = offsetof(PyBytesObject, ob_sval),
    .thread_id = offsetof(PyThreadState, thread_id),
    .code_file = offsetof(PyCodeObject, co_filename),
    .code_first_line = offsetof(PyCodeObject, co_firstlineno),
    .text_length = offsetof(PyASCIIObject, length),
    .text_state = offsetof(PyASCIIObject, state),
    .text_ascii_bytes = sizeof(PyASCIIObject),
    .text_compact_bytes = sizeof(PyCompactUnicodeObject),
#if PY_VERSION_HEX >= 0x03080000
    .runtime_interpreters = offsetof(_PyRuntimeState, interpreters.head),
    .interpreter_next = offsetof(PyInterpreterState, next),
#if PY_VERSION_HEX < 0x030b0000
    .interpreter_threads = offsetof(PyInterpreterState, tstate_head),
#else
    .interpreter_threads = offsetof(PyInterpreterState, threads.head),
#endif
#endif
#if PY_VERSION_HEX < 0x030b0000
    .thread_frame = offsetof(PyThreadState, frame),
    .frame_code = offsetof(FRAME, f_code),
    .frame_back = offsetof(FRAME, f_back),
    .frame_instruction = offsetof(FRAME, f_lasti),
    .code_name = offsetof(PyCodeObject, co_name),
#else
    .frame_back = offsetof(FRAME, previous),
    .frame_owner = offsetof(FRAME, owner),
    .code_name = offsetof(PyCodeObject, co_qualname),
    .code_start = offsetof(PyCodeObject, co_code_adaptive),
    .code_traceable = offsetof(PyCodeObject, _co_firsttraceable),
#endif
#if PY_VERSION_HEX < 0x030a0000
    .code_lines = offsetof(PyCodeObject, co_lnotab),
#else
    .code_lines = offsetof(PyCodeObject, co_linetable),
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
    .thread_frame = offsetof(PyThreadState, cframe),
    .by_c_frame = 1,
    .c_frame_frame = offsetof(_PyCFrame, current_frame),
    .frame_code = offsetof(FRAME, f_code),
    .frame_instruction = offsetof(FRAME, prev_instr),
#elif PY_VERSION_HEX >= 0x030d0000
    .thread_frame = offsetof(PyThreadState, current_frame),
    .frame_code = offsetof(FRAME, f_executable),
    .frame_instruction = offsetof(FRAME, instr_ptr),
#endif
};
