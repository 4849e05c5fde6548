#!/usr/bin/env python3
# %% [markdown]
# # A look into a run
#
# Cells as editors and Jupyter (by jupytext) know them; as a program: `explore.py RUN [PICTURE]`. Record a run with
# `--mode trace`, so that every call has a row. It needs duckdb and matplotlib; docs/reference/tables.md has the columns.
#
# example: hostprobe run -o RUN --mode trace --simgpu 2 -- train_parallel --ranks 2 --pipeline 1 && explore.py RUN explore.png

# %%
import sys

import duckdb
import hostprobe

in_notebook = "ipykernel" in sys.modules
arguments = [] if in_notebook else [word for word in sys.argv[1:] if not word.startswith("-")]
if not arguments and not in_notebook:
    print("usage: explore.py RUN [PICTURE]\n\nexample: explore.py hostprobe-run explore.png")
    sys.exit(0 if "--help" in sys.argv else 2)
run = hostprobe.open(arguments[0] if arguments else "hostprobe-run")
picture = arguments[1] if len(arguments) > 1 else "explore.png"
for table in run:
    print(f"{table.name:18} {', '.join(table.columns)}")

# %% [markdown]
# What hostprobe says itself: the same as `hostprobe report`.

# %%
findings, processes = run.findings, run.processes
print(duckdb.sql("select cause, rank, round(share_pct, 1) as share_pct, text from findings"))
print(duckdb.sql("select rank, pid, kind, records, lost, launches, kernels, round(gpu_busy_ms, 1) as gpu_busy_ms from processes"))

# %% [markdown]
# Which kernels are launched most, and what the calls cost the host. Columns that are not needed are not read.

# %%
launches = run.launches.select(["rank", "pid", "tid", "kernel", "begin_ns", "duration_ns"])
print(duckdb.sql("""
    select kernel, count(*) as launches, round(avg(duration_ns) / 1e3, 2) as avg_us, round(max(duration_ns) / 1e3, 2) as max_us
    from launches group by kernel order by launches desc limit 8"""))

# %% [markdown]
# Launch gaps: from the end of one launch call to the begin of the next of the same thread. The longest ones, and the wait that the
# thread was in meanwhile.

# %%
waits = run.waits.select(["pid", "tid", "function", "caller", "begin_ns", "duration_ns", "waker_role"])
gaps = duckdb.sql("""
    with gaps as (
        select rank, pid, tid, begin_ns + duration_ns as from_ns,
               lead(begin_ns) over (partition by pid, tid order by begin_ns) - from_ns as gap_ns
        from launches),
    longest as (select * from gaps where gap_ns > 0 order by gap_ns desc limit 8)
    select rank, round(from_ns / 1e6, 3) as at_ms, round(gap_ns / 1e3, 1) as gap_us,
           max_by(function, duration_ns) as waited_in, max_by(waker_role, duration_ns) as woken_by
    from longest left join waits
      on waits.pid = longest.pid and waits.tid = longest.tid and waits.begin_ns between from_ns and from_ns + gap_ns
    group by all order by gap_us desc""")
print(gaps)

# %% [markdown]
# What a step is made of.

# %%
steps = run.steps
by_step = duckdb.sql("""
    select steps.rank, steps.number, steps.begin_ns / 1e9 as at_s, steps.duration_ns / 1e6 as step_ms, count(launches.begin_ns) as launches
    from steps left join launches on launches.pid = steps.pid
      and launches.begin_ns >= steps.begin_ns and launches.begin_ns < steps.begin_ns + steps.duration_ns
    where steps.rank is not null group by all order by all""")
print(by_step)

# %% [markdown]
# A picture: every step of every rank, and how busy the launching threads were.

# %%
import matplotlib

if not in_notebook:
    matplotlib.use("Agg")  # into a file; no display is needed
import matplotlib.pyplot as plot

figure, (above, below) = plot.subplots(2, 1, figsize=(10, 6), sharex=True, layout="constrained")
for rank, rows in by_step.df().groupby("rank"):
    above.plot(rows["at_s"], rows["step_ms"], ".-", label=f"rank {rank}")
above.set_ylabel("step, ms")
if above.lines:
    above.legend()
pace = duckdb.sql("""
    select rank, begin_ns // 10_000_000 as slot, count(*) as launches
    from launches where rank is not null group by all order by all""").df()
for rank, rows in pace.groupby("rank"):
    slots = range(int(rows["slot"].min()), int(rows["slot"].max()) + 1)
    counts = rows.set_index("slot")["launches"].reindex(slots, fill_value=0)  # none at all in the others
    below.step([slot / 100 for slot in slots], 100 * counts, where="post")
below.set_ylabel("launches per second")
below.set_xlabel("since the run began, s")
figure.savefig(picture)
print(f"saved {picture}")
