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


def interrupt(us):
    """Sets the time between signals; gives how many there were."""
    return ctypes.CDLL(None).wait_in_signals(ctypes.c_long(us))


interrupt(100)
rounds = 0
while rounds < 100 or rounds % 50 or interrupt(100) < 2000:
    assert Node(1).walk(4) + sum(numbers(50)) == 2531
    exec(compile("def f(a%d): return a%d\nassert f(1) == 1" % (rounds, rounds), "x%d" % rounds, "exec"), {})
    rounds += 1
    if rounds % 50 == 0:
        gc.collect()
interrupt(0)
print("interrupted")
