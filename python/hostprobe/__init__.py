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

`problem` says why calls can do nothing here although the library may be preloaded, else it is None: the compiled part
does not fit this Python (it needs CPython 3.9 or later with an interpreter lock).
"""

import os

__all__ = ["active", "mark", "problem", "region", "start", "step", "stop", "trigger"]

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
