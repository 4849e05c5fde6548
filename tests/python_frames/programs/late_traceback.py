"""faulthandler's own thread dumps this one's frames while it waits."""
import faulthandler
import queue
import sys

faulthandler.dump_traceback_later(0.05, file=sys.stdout)
try:
    queue.Queue().get(timeout=0.2)
except queue.Empty:
    print("empty")
