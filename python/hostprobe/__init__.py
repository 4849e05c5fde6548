"""What a training program may tell hostprobe, and ask of it.

    import hostprobe
    for i, batch in enumerate(loader):
        train_one_step(batch)
        hostprobe.step(i)

Where libhostprobe.so is not preloaded into the process every function does nothing and returns False, so the calls may
stay in the program. None of them raises, waits or prints, whatever it is given. Each may be called by any thread; one
costs two or three microseconds. Standard library only.
"""

import ctypes
import itertools
import os

__all__ = ["active", "start", "step", "stop", "trigger"]

_VERSION = 1
_NUMBERS = (1 << 64) - 1

# Called with the interpreter's lock held: giving it up and taking it again would cost more than the call.
_Plain = ctypes.PYFUNCTYPE(ctypes.c_int)


class _Calls(ctypes.Structure):
    """struct hostprobe_calls of hostprobe/hostprobe.h."""

    _fields_ = [("version", ctypes.c_uint32), ("bytes", ctypes.c_uint32), ("active", _Plain),
                ("trigger", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_char_p)),
                ("step", ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint64)), ("start", _Plain), ("stop", _Plain)]


def _find_calls():
    try:
        find = ctypes.PyDLL(None).hostprobe_calls
    except (AttributeError, OSError):
        return None
    find.argtypes, find.restype = [ctypes.c_uint32], ctypes.POINTER(_Calls)
    found = find(_VERSION)
    return found.contents if found else None


def _restart_numbers():
    global _numbers
    _numbers = itertools.count()


_calls = _find_calls()
_restart_numbers()
os.register_at_fork(after_in_child=_restart_numbers)


def active():
    """Whether calls of this process are being recorded now: not before a first call makes it a target, during a pause, or
    without the library."""
    return _calls is not None and _calls.active() != 0


def trigger(why=""):
    """Asks for the last seconds to be written out, for the reason `why`, of which the first 95 bytes are kept.

    True: hostprobe's own thread will do it within a quarter of a second. False: an earlier request waits for that thread,
    the mode keeps nothing back, or nothing is recorded. Dumps have a least distance from each other, HOSTPROBE_TRIGGER_S.
    """
    if _calls is None:
        return False
    # A NUL would end the text for C.
    text = str(why).encode("utf-8", "replace").replace(b"\0", b" ")
    return _calls.trigger(text) != 0


def step(number=None):
    """Says that a training step ends here; to be called once per step, always by the same thread and at the same place.
    The time since the call before is the step.

    `number`: a whole number (anything that int() takes), kept to its low 64 bits; without one, or with something that is
    none, calls of this process are counted from 0. True: the step was recorded. False: it was not, like the first call.
    A step that takes HOSTPROBE_SLOW_STEP_PCT percent of the median of those before asks for a dump, as trigger() does.
    """
    counted = next(_numbers)
    if _calls is None:
        return False
    if number is None:
        return _calls.step(counted) != 0
    try:
        return _calls.step(int(number) & _NUMBERS) != 0
    except (TypeError, ValueError, OverflowError):
        return _calls.step(counted) != 0


def start():
    """Goes on recording in this process after stop(). True: it records now. False: this process is not recorded at all."""
    return _calls is not None and _calls.start() != 0


def stop():
    """Pauses recording in this process, all threads. True: it pauses now. False: this process is not recorded at all."""
    return _calls is not None and _calls.stop() != 0
