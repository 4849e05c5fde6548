"""faulthandler's own thread dumps this one's frames while it waits."""
import faulthandler
import os
import queue
import tempfile

with tempfile.NamedTemporaryFile("w+") as dump:
    faulthandler.dump_traceback_later(0.05, file=dump)
    while os.path.getsize(dump.name) == 0:
        try:
            queue.Queue().get(timeout=0.1)
        except queue.Empty:
            pass
    faulthandler.cancel_dump_traceback_later()
    dump.seek(0)
    print(dump.read())
