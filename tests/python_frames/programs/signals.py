"""A C signal handler that waits interrupts the interpreter anywhere, in the middle of pushing a frame too."""
import ctypes
import gc


class Node:
    def __init__(self, n):
        self.n = n

    def walk(self, depth):
        return sum(Node(i).walk(depth - 1) for i in range(3)) if depth else self.n


def numbers(n):
    yield from (i * 2 for i in range(n))


ctypes.CDLL(None).wait_in_signals(ctypes.c_long(100))
total = 0
for i in range(1000):
    total += Node(1).walk(4) + sum(numbers(50))
    exec(compile("def f(%s): return 1\ntotal = f(%s)" % (("a%d" % i), i), "x%d" % i, "exec"), {})
    if i % 50 == 0:
        gc.collect()
count = ctypes.CDLL(None).wait_in_signals(ctypes.c_long(0))
print(total, "interrupted" if count > 500 else count)
