"""What a training program may tell hostprobe, and ask of it.

    import hostprobe
    for i, batch in enumerate(loader):
        with hostprobe.region("forward"):
            loss = model(batch)
        ...
        hostprobe.mark("loss", float(loss))
        hostprobe.step(i)

Where libhostprobe.so is not preloaded into the process every function does nothing and returns False, so the calls may
stay in the program. None of them raises, waits or prints, whatever it is given, but for a wrong number of arguments. Each
may be called by any thread. Standard library only.

To read what was recorded: `hostprobe.open(RUN)` gives the tables of a run, `hostprobe.to_parquet(RUN, FOLDER)` writes them,
`hostprobe.to_step_rows(RUN, DATA)` those for joins over hosts. These three raise; what they need is imported when they are called.

`problem` says why calls can do nothing here although the library may be preloaded, else it is None: the compiled part
does not fit this Python (it needs CPython 3.9 or later with an interpreter lock).
"""

import os

# Without open: `from hostprobe import *` shall not hide the one that is built in.
__all__ = ["active", "mark", "problem", "region", "start", "step", "stop", "to_parquet", "to_step_rows", "trigger"]

try:
    from hostprobe import _marks
    problem = None
except ImportError as error:
    from hostprobe import _no_marks as _marks
    problem = f"hostprobe: calls do nothing: {error}"

active, mark, region, start = _marks.active, _marks.mark, _marks.region, _marks.start
step, stop, trigger = _marks.step, _marks.stop, _marks.trigger

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_marks.restart_numbers)


def open(run, job=None, host=None):
    """The tables of the run folder, or of the one trace file, at `run`: of its job number `job`, else its newest; with `host` what
    that host's processes recorded. See hostprobe._run.Run, docs/reference/tables.md."""
    from hostprobe._run import Run
    return Run(run, job, host)


def to_parquet(run, folder, tables=None, progress=None, overwrite=False):
    """Writes tables of a run as Parquet data sets: see hostprobe._parquet.to_parquet, docs/reference/tables.md."""
    from hostprobe._parquet import to_parquet as write
    return write(run, folder, tables, progress, overwrite)


def to_step_rows(run, data):
    """Adds the step rows of a run to the folder `data`: see hostprobe._step_rows.to_step_rows, docs/reference/job.md."""
    from hostprobe._step_rows import to_step_rows as write
    return write(run, data)
