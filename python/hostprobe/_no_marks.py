"""The functions of _marks where that cannot be loaded: they do nothing, and say so."""

import contextlib


class _Step(int):
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __repr__(self):
        return "False"


_not_recorded = _Step(0)
_region = contextlib.nullcontext()


def active():
    return False


def preloaded():
    return False


def start():
    return False


def stop():
    return False


def trigger(why=""):
    return False


def step(number=None):
    return _not_recorded


def mark(name, value):
    return False


def region(name):
    return _region


def restart_numbers():
    return None
