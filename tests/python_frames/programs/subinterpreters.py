"""Subinterpreters in the main thread and in threads, made and destroyed, waiting inside."""
import threading

try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

SCRIPT = """
import queue
def inside():
    try:
        queue.Queue().get(timeout=0.003)
    except queue.Empty:
        pass
inside()
"""


def once():
    made = interpreters.create()
    interpreters.run_string(made, SCRIPT)
    interpreters.destroy(made)


for _ in range(5):
    once()
threads = [threading.Thread(target=once) for _ in range(2)]
for thread in threads:
    thread.start()
    thread.join()
print("done")
