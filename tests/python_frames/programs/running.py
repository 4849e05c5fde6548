"""Functions that call each other as fast as they can, looked at all the while. Each call stands on a line of its own."""
import ctypes
import sys
import threading
import time


def leaf_a(x):
    return x + 1


def leaf_b(x):
    y = x - 1
    return y


def twig(x):
    x = leaf_a(x)
    x = leaf_b(x)
    return x


def branch(x):
    for _ in range(3):
        x = twig(x)
        x = leaf_a(x)
    return x


def numbers(n):
    for i in range(n):
        yield leaf_b(i)


def falls(x):
    if x > 3:
        raise ValueError(x)
    falls(x + 1)


def made(x):
    names = {}
    exec("def temporary(x):\n    return x * 2\n", names)
    function = names["temporary"]
    return function(x)


def trunk(x):
    x = branch(x)
    x = sum(numbers(5))
    try:
        falls(0)
    except ValueError:
        pass
    made(x)
    return x


def deep(x):
    if x == 0:
        return trunk(x)
    return deep(x - 1)


def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        trunk(1)
        deep(200)


probe = ctypes.CDLL(None)
has_probe = hasattr(probe, "start_samples")
if has_probe:
    # Elsewhere there is nothing to look with.
    threads = [threading.Thread(target=main, args=(float(sys.argv[1]),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        probe.start_samples(thread.native_id)
    main(float(sys.argv[1]))
    for thread in threads:
        thread.join()
    probe.stop_samples()
print("done")
