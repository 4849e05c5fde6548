"""What NCCL's Inspector writes, made by its documented schema: only that was at hand, no file of the tool itself."""

import json

BEGIN_US = 1_752_867_229_000_000


def record(number, rank=0, verbose=True, size=1 << 20, name="AllReduce", late_us=0, communicator="0xe62dedaa97644a", ranks=2, **more):
    """One collective; each begins 10 ms after the one before."""
    begin = BEGIN_US + 10_000 * number + late_us
    work = {"coll": name, "coll_sn": number, "coll_msg_size_bytes": size, "coll_exec_time_us": 400, "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": 2.6, "coll_busbw_gbs": 2.6}
    if verbose:
        work["event_trace_sn"] = {"coll_start_sn": 1, "coll_stop_sn": 2}
        work["event_trace_ts"] = {"coll_start_ts": begin, "coll_stop_ts": begin + 5,
                                  "kernel_events": [{"channel_id": channel, "kernel_start_ts": begin + 20 + channel,
                                                     "kernel_stop_ts": begin + 420 + channel} for channel in range(2)]}
    return {"header": {"id": communicator, "rank": rank, "n_ranks": ranks, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "", "rec_mechanism": "nccl_profiler_interface",
                         "dump_timestamp_us": begin + 1000, "hostname": "gpu-node-1", "pid": 438776 + rank},
            "coll_perf": work, **more}


def inspector_lines(count=8):
    """Of two ranks, of which the second one is later, and much each third time; the last ones without times."""
    for number in range(1, count + 1):
        for rank in range(2):
            one = record(number, rank, verbose=number < count, late_us=rank * (300 if number % 3 == 0 else 20))
            yield json.dumps(one, indent=2 if number == 2 else None) + "\n"
