// profile_text.h: what runs in the interpreter from the wish for a window to its end.
//
// Room 2 (probe/). Given: host (PythonCall in profile_script.cpp), path, part, steps, called_s. It imports what every program with torch has imported.
// An error of it reaches nobody: the window ends with a reason. When it has ended nothing of it is left in torch: the optimizers'
// hook, the two names of torch.autograd.profiler and the function at exit are taken back.
#pragma once

namespace hostprobe::probe {

inline constexpr char kProfileScript[] = R"PY(
import atexit, gc, os, sys, threading, time

OPENED, DONE, REFUSED, USUAL, IS_STEP, BEGIN, END = range(7)
TOOLS = ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID", "KINETO_USE_DAEMON")
LIBRARIES = ("ToolsInjection", "cuda-injection", "libnsys")
GUARDED = ("_prepare_profiler", "_enable_profiler")
LEAST_FREE_BYTES = 64 << 20


def other_tool():
    for name in TOOLS:
        value = os.environ.get(name)
        if value and "hostprobe" not in value:
            return name + " is set: another tool may profile it"
    with open("/proc/self/maps") as maps:
        for line in maps:
            for library in LIBRARIES:
                if library in line:
                    return "another profiler is loaded: " + line.rsplit("/", 1)[-1].strip()
    if "torch.profiler._cuspy" in sys.modules:
        return "PyTorch's own CUPTI collector (cuspy) is loaded"


def running_profiler(torch):
    enabled = getattr(torch.autograd, "_profiler_enabled", None)
    if (enabled and enabled()) or getattr(torch.autograd.profiler, "_is_profiler_enabled", False):
        return "a profiler of PyTorch runs in it already"


# To look through all objects takes tens of milliseconds; torch keeps a count of steps for each profiler that is not left yet.
def waiting_profiler(torch):
    kind = torch.profiler.profile
    counts = getattr(getattr(torch.autograd.profiler, "KinetoStepTracker", None), "_step_dict", None)
    if counts is not None and "ProfilerStep" not in counts:
        return
    for one in gc.get_referrers(kind):
        if type(one) is kind and getattr(one.current_action, "name", "") == "WARMUP":
            return "a profiler of the program is about to record"


def folder_problem():
    folder = os.path.dirname(path)
    if not os.access(folder, os.W_OK):
        return "the run folder cannot be written to"
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < LEAST_FREE_BYTES:
        return "the disk of the run folder is nearly full"


def whole(name):
    size = os.path.getsize(name)
    with open(name, "rb") as file:
        file.seek(max(0, size - 64))
        return size if file.read().rstrip().endswith(b"}") else 0


class Window:
    def __init__(self, torch):
        self.torch, self.pid = torch, os.getpid()
        self.key = self.thread = self.profile = self.handle = None
        self.ours = self.over = False
        self.count = self.bytes = 0
        self.start_s = self.stop_s = self.steps_s = 0.0
        self.guarded = {}
        self.usual_ms = 0.0
        self.problem = "the program ended before the next step"

    def arm(self):
        from torch.optim.optimizer import register_optimizer_step_post_hook
        is_compiling = self.torch.compiler.is_compiling

        def hostprobe_window(optimizer, args, kwargs):
            if not is_compiling():
                self.step(optimizer)
        self.handle = register_optimizer_step_post_hook(hostprobe_window)
        atexit.register(self.leave)

    def step(self, key):
        if self.over or self.pid != os.getpid():
            self.take_hooks_back()
            return
        try:
            thread = threading.get_ident()
            if self.key is None:
                if key is None or host(IS_STEP, key):
                    self.key, self.thread = (key,), thread
                    self.open()
            elif key is self.key[0] and thread == self.thread:
                self.go_on()
        except Exception as error:
            self.close(("%s: %s" % (type(error).__name__, error)).split("\n")[0])

    def open(self):
        problem = running_profiler(self.torch)
        if problem:
            return self.close(problem)
        self.usual_ms = host(USUAL)
        begin_s, begun = time.perf_counter(), host(BEGIN)
        profiler = self.torch.profiler
        self.ours = True
        self.profile = profiler.profile(schedule=profiler.schedule(wait=0, warmup=1, active=steps, repeat=1),
                                        on_trace_ready=self.export)
        self.profile.start()
        self.ours = False
        self.guard()
        self.problem = "the program ended inside of the window"
        host(OPENED)
        host(END, begun, "profile_window.start")
        self.last_s = time.perf_counter()
        self.start_s += self.last_s - begin_s

    def go_on(self):
        begin_s, begun = time.perf_counter(), host(BEGIN)
        self.count += 1
        if self.count == 1:
            self.begun = begun
        else:
            self.steps_s += begin_s - self.last_s
        if self.count > steps:
            host(END, self.begun, "profile_window")
        self.ours = True
        self.profile.step()
        self.ours = False
        self.last_s = time.perf_counter()
        if self.count == 1:
            self.start_s += self.last_s - begin_s
            host(END, begun, "profile_window.start")
        elif self.count > steps:
            self.stop_s = self.last_s - begin_s
            host(END, begun, "profile_window.stop")
            self.close(None if self.bytes else "torch.profiler wrote no whole profile; the disk may be full")

    # libkineto writes into a file of that name with .tmp behind it, which nobody else may read either.
    def export(self, profile):
        names = (part, part + ".tmp")
        try:
            for name in names:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            profile.export_chrome_trace(part)
            self.bytes = whole(part)
            if self.bytes:
                os.chmod(part, 0o600)
                os.rename(part, path)
        finally:
            for name in names:
                if os.path.exists(name):
                    os.unlink(name)

    # A profiler of the program's own must find the place free: ours goes first.
    def guard(self):
        module = self.torch.autograd.profiler

        def giving_way(name, real):
            def first_ours(*args, **kwargs):
                if not self.ours and not self.over and threading.get_ident() == self.thread:
                    self.close("a profiler of the program's own began")
                    if name == "_enable_profiler" and hasattr(module, "_set_is_profiler_enabled"):
                        module._set_is_profiler_enabled(True)
                return real(*args, **kwargs)
            return first_ours
        for name in GUARDED:
            real = getattr(module, name, None)
            if real is not None:
                ours = giving_way(name, real)
                self.guarded[name] = (real, ours)
                setattr(module, name, ours)

    def take_hooks_back(self):
        if self.handle is not None:
            self.handle.remove()
            self.handle = None
        module = self.torch.autograd.profiler
        for name, (real, ours) in self.guarded.items():
            if getattr(module, name, None) is ours:
                setattr(module, name, real)
        self.guarded = {}
        atexit.unregister(self.leave)

    def stop_profile(self):
        profile, self.profile = self.profile, None
        if profile is None or threading.get_ident() != self.thread or self.pid != os.getpid():
            return
        self.ours = True
        profile.on_trace_ready = None
        try:
            profile.__exit__(None, None, None)
        except Exception:
            pass
        self.ours = False

    def close(self, problem):
        if self.over:
            return
        self.over = True
        try:
            self.stop_profile()
            self.take_hooks_back()
        except Exception:
            pass
        if problem:
            host(REFUSED, 0, problem)
            return
        step_ms = 1e3 * self.steps_s / steps
        usual = ", usual %.4g ms (%+.1f %%)" % (self.usual_ms, 100 * (step_ms / self.usual_ms - 1)) if self.usual_ms else ""
        host(DONE, self.bytes, "%d steps at %.4g ms%s; start %.3g ms, stop and export %.3g ms" %
             (steps, step_ms, usual, 1e3 * self.start_s, 1e3 * self.stop_s))

    # In a program whose steps no optimizer ends: how many have passed, and what one usually takes, is seen by its launches.
    def begin_by_time(self, count, usual_ms):
        global steps
        steps = max(1, count)
        self.step(None)
        self.usual_ms = usual_ms

    def leave(self):
        if self.pid == os.getpid():
            self.close(self.problem)


window = None


def begin():
    global window
    torch = sys.modules.get("torch")
    if not hasattr(torch, "optim") or not hasattr(torch, "profiler"):
        problem = "the program has not imported torch; ask once it trains"
    else:
        problem = other_tool() or running_profiler(torch) or waiting_profiler(torch) or folder_problem()
    if problem:
        return host(REFUSED, 0, problem)
    try:
        window = Window(torch)
        window.arm()
        window.start_s = time.perf_counter() - called_s
    except Exception as error:
        window.close(("%s: %s" % (type(error).__name__, error)).split("\n")[0])


def mark():
    if window is not None:
        window.step(None)


def begin_by_time(count, usual_us):
    if window is not None and window.key is None:
        window.begin_by_time(count, usual_us / 1e3)


def end_by_time():
    while window is not None and not window.over and window.count <= steps:
        window.step(None)


def withdraw(problem):
    if window is not None and window.thread in (None, threading.get_ident()):
        window.close(problem)


begin()
)PY";

}  // namespace hostprobe::probe
