"""Stacks that are switched under the interpreter's feet: each greenlet waits in its own functions."""
import queue

import greenlet


def wait_here(name):
    try:
        queue.Queue().get(timeout=0.03)
    except queue.Empty:
        return name


def outer(name):
    def inner():
        wait_here(name)
        greenlet.getcurrent().parent.switch(name)
        wait_here(name)
        return name
    return inner()


greenlets = [greenlet.greenlet(outer) for _ in range(3)]
print([g.switch(i) for i, g in enumerate(greenlets)])
print([g.switch() for g in greenlets])
