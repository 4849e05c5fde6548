#!/usr/bin/env python3
"""greenlet's own tests: stacks that are copied away and back, threads that end with greenlets alive, C++ exceptions."""

import suite

MODULES = ("contextvars", "cpp", "extension_interface", "gc", "generator", "generator_nested", "greenlet", "greenlet_trash",
           "interpreter_shutdown", "leaks", "stack_saved", "throw", "tracing", "weakref")


class Greenlet(suite.Suite):
    least = 150

    def test_pass_as_without(self):
        self.check([f"greenlet.tests.test_{name}" for name in MODULES])


if __name__ == "__main__":
    suite.main()
