"""How many CPUs others took while something of ours ran: a truth that was measured beside them is less sure."""

import os
import resource
import time
from pathlib import Path


def _busy_s():
    """Of all CPUs since boot."""
    user, nice, system, _, _, irq, soft_irq, steal = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + irq + soft_irq + steal) / os.sysconf("SC_CLK_TCK")


def _own_s():
    """Of this process and of the children that it has waited for, with theirs."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


class Bystanders:
    def __enter__(self):
        self._begin = time.monotonic(), _busy_s(), _own_s()
        return self

    def __exit__(self, *_):
        begin, busy, own = self._begin
        self.cpus = max(0.0, (_busy_s() - busy - (_own_s() - own)) / (time.monotonic() - begin))
