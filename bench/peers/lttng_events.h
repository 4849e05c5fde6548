// lttng_events.h: the two events of a launch, with the words that hostprobe keeps of one. Read several times by LTTng's
// macros, hence no #pragma once.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER hostprobe_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng_events.h"

#if !defined(HOSTPROBE_BENCH_LTTNG_EVENTS) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HOSTPROBE_BENCH_LTTNG_EVENTS

#include <lttng/tracepoint.h>
#include <stdint.h>

// clang-format off
LTTNG_UST_TRACEPOINT_EVENT(hostprobe_bench, begin,
    LTTNG_UST_TP_ARGS(uint64_t, kernel, uint32_t, grid, uint32_t, block, uint32_t, shared_bytes, uint64_t, stream,
                      uint64_t, site),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(uint64_t, kernel, kernel)
                        lttng_ust_field_integer(uint32_t, grid, grid)
                        lttng_ust_field_integer(uint32_t, block, block)
                        lttng_ust_field_integer(uint32_t, shared_bytes, shared_bytes)
                        lttng_ust_field_integer(uint64_t, stream, stream)
                        lttng_ust_field_integer(uint64_t, site, site)))
LTTNG_UST_TRACEPOINT_EVENT(hostprobe_bench, end, LTTNG_UST_TP_ARGS(int, result),
    LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, result, result)))
// clang-format on

#endif

#include <lttng/tracepoint-event.h>
