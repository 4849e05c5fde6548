/* What an interpreter's own headers say, for layout_test.cpp: header_layout.c is compiled once per interpreter. */
#ifndef HOSTPROBE_TESTS_HEADER_LAYOUT_H
#define HOSTPROBE_TESTS_HEADER_LAYOUT_H

#ifdef __cplusplus
extern "C" {
#endif

struct HeaderLayout {
  unsigned hex;
  unsigned object_type, bytes_length, bytes_start;
  unsigned thread_id, thread_frame, by_c_frame, c_frame_frame;
  unsigned frame_code, frame_back, frame_instruction, frame_owner;
  unsigned code_start, code_traceable, code_file, code_name, code_lines, code_first_line;
  unsigned text_length, text_state, text_ascii_bytes, text_compact_bytes;
  unsigned runtime_interpreters, interpreter_next, interpreter_threads;
};

#ifdef __cplusplus
}
#endif
#endif
