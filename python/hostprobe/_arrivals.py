"""Calls that wait for a module, until the program imports it; nothing is imported here.

A finder stands first in sys.meta_path while somebody waits. It asks the others for the module and puts one function around its
loader's exec_module, for that one execution. A failed import leaves everybody waiting for the next try.
"""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from typing import Any, Callable, Optional

Call = Callable[[Any], None]
_waiting: dict[str, list[Call]] = {}


def when_there(module: str, call: Call) -> bool:
    """call(module) now, or once its import has succeeded, on that thread. True: it was called. What it raises, when it had
    to wait, is dropped."""
    there = sys.modules.get(module)
    spec = getattr(there, "__spec__", None)
    if there is not None and not getattr(spec, "_initializing", False):
        call(there)
        return True
    _waiting.setdefault(module, []).append(call)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    return False


def forget(calls: list[Call]) -> None:
    """These wait no longer."""
    for module in list(_waiting):
        _waiting[module] = [call for call in _waiting[module] if call not in calls]
        if not _waiting[module]:
            del _waiting[module]
    _leave_if_done()


def _leave_if_done() -> None:
    if not _waiting and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


def _arrived(name: str) -> None:
    module = sys.modules.get(name)
    for call in _waiting.pop(name, []):
        try:
            call(module)
        except Exception:
            pass
    _leave_if_done()


def _watch(loader: Any, name: str) -> None:
    execute = loader.exec_module

    def exec_module(module: Any) -> None:
        loader.__dict__.pop("exec_module", None)
        execute(module)
        _arrived(name)

    try:
        loader.exec_module = exec_module  # of this one loader, not of its class
    except AttributeError:
        pass  # one without room for it: they wait for good


class _Finder:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Optional[ModuleSpec]:
        if name not in _waiting:
            return None
        for other in list(sys.meta_path):
            find = None if other is self else getattr(other, "find_spec", None)
            spec: Optional[ModuleSpec] = find(name, path, target) if find is not None else None
            if spec is None:
                continue
            if hasattr(spec.loader, "exec_module"):
                _watch(spec.loader, name)
            return spec
        return None


_finder: Any = _Finder()
