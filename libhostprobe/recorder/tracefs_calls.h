// tracefs_calls.h: the functions of libtracefs, libtraceevent's pages and libtracecmd that are used here.
//
// Room kernel/. Their own headers (libtracefs 1.6, libtracecmd 1.3) are no C++: an enum is called with a number in one.
#pragma once

#include <event-parse.h>
#include <sched.h>

extern "C" {
#include <kbuffer.h>

struct tracefs_instance;
struct tracefs_cpu;
struct tracecmd_input;

const char* tracefs_tracing_dir(void);
void tracefs_set_loglevel(tep_loglevel level);
tep_handle* tracefs_local_events_system(const char* tracing_dir, const char* const* systems);

tracefs_instance* tracefs_instance_create(const char* name);
int tracefs_instance_destroy(tracefs_instance* instance);
void tracefs_instance_free(tracefs_instance* instance);
int tracefs_instance_file_write(tracefs_instance* instance, const char* file, const char* text);
int tracefs_instance_file_append(tracefs_instance* instance, const char* file, const char* text);
char* tracefs_instance_file_read(tracefs_instance* instance, const char* file, int* size);
int tracefs_instance_set_affinity_set(tracefs_instance* instance, cpu_set_t* set, size_t set_size);
int tracefs_event_enable(tracefs_instance* instance, const char* system, const char* event);

tracefs_cpu* tracefs_cpu_open(tracefs_instance* instance, int cpu, bool nonblock);
void tracefs_cpu_close(tracefs_cpu* cpu);
int tracefs_cpu_read_size(tracefs_cpu* cpu);
int tracefs_cpu_read(tracefs_cpu* cpu, void* buffer, bool nonblock);
int tracefs_cpu_flush(tracefs_cpu* cpu, void* buffer);

inline constexpr int kTracecmdNoPlugins = 1;  // TRACECMD_FL_LOAD_NO_PLUGINS
void tracecmd_set_loglevel(tep_loglevel level);
tracecmd_input* tracecmd_open(const char* file, int flags);
tep_handle* tracecmd_get_tep(tracecmd_input* handle);
int tracecmd_buffer_instances(tracecmd_input* handle);
tracecmd_input* tracecmd_buffer_instance_handle(tracecmd_input* handle, int index);
int tracecmd_iterate_events(tracecmd_input* handle, cpu_set_t* cpus, int cpu_size,
                            int (*callback)(tracecmd_input*, tep_record*, int, void*), void* context);
// In no header of the library.
const char* tracecmd_get_trace_clock(tracecmd_input* handle) __attribute__((weak));
}
