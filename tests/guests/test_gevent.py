#!/usr/bin/env python3
"""gevent's own tests, without those that need a network: greenlets that switch inside waits, native threads, a thread pool,
patched sockets, locks, signals and processes, forks.

test_gevent.py [-v] [Gevent.test_…]   each test of this file is a part of gevent's
"""

import suite

PARTS = {
    "threads": ("_monitor", "import_blocking_in_greenlet", "local", "lock", "monkey_hub_in_thread", "semaphore", "thread",
                "threading", "threading_2", "threading_before_monkey", "threading_monkey_in_thread",
                "threading_native_before_monkey", "threading_no_monkey", "threading_patched_local",
                "threading_shutdown_atexit", "threading_vs_settrace", "threadpool", "threadpool_executor_patched"),
    "greenlets": ("event", "exc_info", "greenlet", "greenletset", "greenness", "hub", "hub_join", "hub_join_timeout",
                  "joinall", "select", "selectors", "sleep0", "timeout", "util"),
    "processes": ("core_fork", "core_watcher", "destroy", "fileobject", "issue607", "issues461_471", "monkey_fork_atomic",
                  "monkey_futures_thread_fork", "monkey_module_run", "monkey_sigchld", "monkey_sigchld_2",
                  "monkey_sigchld_3", "monkey_sigchld_wakeup_fd", "nondefaultloop", "order", "os", "signal", "subprocess",
                  "subprocess_interrupted", "subprocess_poll", "threading_fork_from_dummy"),
    "sockets": ("api_timeout", "makefile_ref", "server", "server_pywsgi", "socket", "socket_close", "socket_ex",
                "socket_send_memoryview", "socket_timeout", "socketpair", "ssl"),
}


class Gevent(suite.Suite):
    least = 40
    settings = {"GEVENTTEST_USE_RESOURCES": "-network"}


def check(self, part):
    self.check([f"gevent.tests.test__{name}" for name in PARTS[part]])


for name in PARTS:
    setattr(Gevent, f"test_{name}", lambda self, name=name: check(self, name))

if __name__ == "__main__":
    suite.main()
