"""Samples every thread of a process tree from outside, through /proc: what coverage.py holds hostprobe's account against.

Per thread: when it began and was last seen, its CPU time and its time ready but not running (schedstat, last reading),
and for samples that found it blocked the system call, the libc function and the module that called it. A thread whose
schedstat did not change since the last sample is still in the same call, so only its schedstat is read: sleeping threads
cost next to nothing. Python standard library only; root or the job's own user.
"""

import bisect
import ctypes
import os
import resource
import struct
import time
from array import array
from collections import namedtuple
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
STACK_WORDS = 160
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
NAMES = {0: "read", 1: "write", 3: "close", 7: "poll", 16: "ioctl", 17: "pread64", 19: "readv", 20: "writev", 23: "select",
         24: "sched_yield", 34: "pause", 35: "nanosleep", 42: "connect", 43: "accept", 44: "sendto", 45: "recvfrom",
         46: "sendmsg", 47: "recvmsg", 61: "wait4", 73: "flock", 74: "fsync", 75: "fdatasync", 128: "rt_sigtimedwait",
         130: "rt_sigsuspend", 202: "futex", 219: "restart_syscall", 230: "clock_nanosleep", 232: "epoll_wait",
         247: "waitid", 270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 288: "accept4", 441: "epoll_pwait2",
         449: "futex_waitv", 257: "openat", 9: "mmap", 10: "mprotect", 11: "munmap", 56: "clone", 58: "vfork",
         59: "execve", 231: "exit_group", 435: "clone3", 454: "futex_wake", 455: "futex_wait"}

# Where a blocked thread is. `hooked`: a function of libhostprobe.so stands between the call and its caller.
Place = namedtuple("Place", "syscall function module hooked")
NOWHERE = Place("?", "?", "?", False)
Mapping = namedtuple("Mapping", "begin end offset path")


def syscall_name(number):
    return NAMES.get(number, f"system call {number}")


class ElfFunctions:
    """The functions that an ELF file exports, by address in the file's own numbering."""

    def __init__(self, path):
        self.functions, self.loads = [], []
        try:
            self._read(Path(path).read_bytes())
        except (OSError, struct.error, IndexError):
            pass
        self.begins = [begin for begin, _, _ in self.functions]

    def _read(self, data):
        if data[:5] != b"\x7fELF\x02":
            return
        program_at, section_at = struct.unpack_from("<QQ", data, 32)
        program_size, programs, section_size, sections = struct.unpack_from("<HHHH", data, 54)
        for i in range(programs):
            kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, program_at + i * program_size)
            if kind == 1:
                self.loads.append((offset, size, address))
        table = [struct.unpack_from("<IIQQQQII", data, section_at + i * section_size) for i in range(sections)]
        for _, kind, _, _, offset, size, link, _ in table:
            if kind == 11:  # SHT_DYNSYM
                self._read_symbols(data[offset:offset + size], data[table[link][4]:table[link][4] + table[link][5]])

    def _read_symbols(self, symbols, strings):
        for name, info, _, section, value, size in struct.iter_unpack("<IBBHQQ", symbols):
            if section and size and info & 15 in (2, 10):
                self.functions.append((value, value + size, strings[name:strings.index(b"\0", name)].decode()))
        # Of several names of one function the shortest without underscores in front: poll, not __poll.
        self.functions.sort(key=lambda f: (f[0], -f[2].startswith("_"), -len(f[2])))

    def at(self, file_offset):
        for offset, size, address in self.loads:
            if offset <= file_offset < offset + size:
                place = file_offset - offset + address
                i = bisect.bisect_right(self.begins, place) - 1
                if i >= 0 and place < self.functions[i][1]:
                    return self.functions[i][2]
        return None


class AddressSpace:
    """The executable mappings of a process, read again when an address is not in one that is known."""

    PAUSE_NS = 500_000_000
    files = {}

    def __init__(self, pid):
        self.pid, self.mappings, self.begins, self.read_at = pid, [], [], 0

    def _read(self, now):
        self.read_at, self.mappings = now, []
        try:
            lines = Path(f"/proc/{self.pid}/maps").read_text(errors="replace").splitlines()
        except OSError:
            return
        for line in lines:
            words = line.split(None, 5)
            if "x" in words[1]:
                begin, end = (int(word, 16) for word in words[0].split("-"))
                self.mappings.append(Mapping(begin, end, int(words[2], 16), words[5] if len(words) > 5 else "anonymous"))
        self.begins = [mapping.begin for mapping in self.mappings]

    def find(self, address):
        i = bisect.bisect_right(self.begins, address) - 1
        return self.mappings[i] if i >= 0 and address < self.mappings[i].end else None

    def find_pc(self, address, now):
        found = self.find(address)
        if found is None and now - self.read_at > self.PAUSE_NS:
            self._read(now)
            found = self.find(address)
        return found

    def function(self, address, mapping):
        if mapping.path not in self.files:
            self.files[mapping.path] = ElfFunctions(mapping.path)
        return self.files[mapping.path].at(address - mapping.begin + mapping.offset)


def is_libc(path):
    return path.rsplit("/", 1)[-1].startswith(("libc.so", "libpthread", "ld-linux"))


def stack_words(thread, stack, low, high):
    try:
        with open(f"/proc/{thread.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(stack)
            data = memory.read(8 * STACK_WORDS)
    except (OSError, OverflowError):
        return
    for (word,) in struct.iter_unpack("<Q", data[:len(data) & ~7]):
        if low <= word < high:
            yield word


class Thread:
    def __init__(self, pid, tid):
        self.pid, self.tid = pid, tid
        folder = f"/proc/{pid}/task/{tid}"
        stat = Path(folder, "stat").read_text(errors="replace").rpartition(")")[2].split()
        self.began_ns = int(stat[19]) * TICK_NS  # since boot, as CLOCK_BOOTTIME counts
        self.files = []
        try:
            self.schedstat, self.syscall, self.children = (self.open(f"{folder}/{name}")
                                                           for name in ("schedstat", "syscall", "children"))
        except OSError:
            self.close(0)
            raise
        self.name = ""
        self.cpu_ns = self.delay_ns = 0
        self.text, self.place, self.child_pids = b"", None, []
        self.first_ns = self.last_ns = time.monotonic_ns()
        self.ended_ns = None
        self.blocked_at, self.blocked_in, self.seen = array("q"), [], 0

    def open(self, path):
        self.files.append(os.open(path, os.O_RDONLY))
        return self.files[-1]

    def close(self, now):
        for file in self.files:
            os.close(file)
        self.ended_ns = now


class Sampler:
    MOST_OF_A_CORE = 0.04

    def __init__(self, pause_s):
        """`pause_s`: between samples at least; longer as soon as sampling takes more than MOST_OF_A_CORE."""
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # processes that lose their parent become ours
        self.limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.descriptors = min(self.limit[1], 65536)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.limit[1]))
        self.pause_s, self.rounds, self.own_s = pause_s, 0, 0.0
        self.live, self.ended, self.spaces, self.commands = {}, [], {}, {}
        self.unseen = 0
        self.boot_ns = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.monotonic_ns()

    def restore_limit(self):
        """For the job, before it starts: three open files for each of its threads are our need, not its."""
        resource.setrlimit(resource.RLIMIT_NOFILE, self.limit)

    def sample_until(self, is_over):
        while not is_over():
            begin = time.thread_time()
            self.sample()
            used = time.thread_time() - begin
            self.own_s += used
            time.sleep(max(self.pause_s, used / self.MOST_OF_A_CORE - used))
        self.forget_gone(set())

    def sample(self):
        self.rounds += 1
        there = set()
        todo = [int(child) for child in Path(f"/proc/self/task/{os.getpid()}/children").read_bytes().split()]
        while todo:
            pid = todo.pop()
            try:
                tids = os.listdir(f"/proc/{pid}/task")
            except OSError:
                continue
            for key in ((pid, int(tid)) for tid in tids):
                self.sample_thread(key)
                if key in self.live:
                    there.add(key)
                    todo.extend(self.live[key].child_pids)
        self.forget_gone(there)

    def forget_gone(self, there):
        now = time.monotonic_ns()
        for key in [key for key in self.live if key not in there]:
            self.end(key, now)

    def end(self, key, now):
        thread = self.live.pop(key)
        thread.close(now)
        self.ended.append(thread)

    def sample_thread(self, key):
        thread = self.live.get(key)
        try:
            if thread is None:
                thread = self.start(key)
            text = os.pread(thread.schedstat, 100, 0)
            if text != thread.text:
                thread.cpu_ns, thread.delay_ns = (int(word) for word in text.split()[:2])
                thread.text = text
                thread.place = self.place_of(thread)
                self.refresh_name(thread)
            thread.child_pids = [int(child) for child in os.pread(thread.children, 4096, 0).split()]
        except (OSError, ValueError):
            if thread is not None and key in self.live:
                self.end(key, time.monotonic_ns())
            else:
                self.unseen += 1
            return
        thread.last_ns = time.monotonic_ns()
        thread.seen += 1
        if thread.place is not None:
            thread.blocked_at.append(thread.last_ns)
            thread.blocked_in.append(thread.place)

    def start(self, key):
        if 3 * len(self.live) + 32 > self.descriptors:
            raise OSError("too many threads for the limit on open files")
        thread = self.live[key] = Thread(*key)
        return thread

    def refresh_name(self, thread):
        if thread.seen % 16 in (0, 1):
            thread.name = Path(f"/proc/{thread.pid}/task/{thread.tid}/comm").read_text(errors="replace").strip()
            words = Path(f"/proc/{thread.pid}/cmdline").read_bytes().split(b"\0")
            command = b" ".join(words).decode(errors="replace").strip()
            if self.commands.get(thread.pid) != command and command:
                self.commands[thread.pid] = command
                self.spaces[thread.pid] = AddressSpace(thread.pid)

    def place_of(self, thread):
        """None: not blocked."""
        words = os.pread(thread.syscall, 200, 0).split()
        if not words or words[0] == b"running":
            return None
        pc, stack = int(words[-1], 16), int(words[-2], 16)
        if words[0] == b"-1":
            channel = Path(f"/proc/{thread.pid}/task/{thread.tid}/wchan").read_text()
            return Place(f"outside of a system call ({channel.strip('0') or 'page fault'})", "", "", False)
        space = self.spaces.setdefault(thread.pid, AddressSpace(thread.pid))
        mapping = space.find_pc(pc, time.monotonic_ns())
        name = syscall_name(int(words[0]))
        if mapping is None:
            return Place(name, "?", "?", False)
        if not is_libc(mapping.path):
            return Place(name, "inline", os.path.basename(mapping.path), False)
        return self.walk(thread, space, name, pc, stack, mapping)

    # There is no unwinding here: of the words on the stack, the first that points into another module than libc is taken
    # for the caller's return address. What earlier calls left behind can mislead it, except past a hook: its frame lies
    # directly below the libc function of the same name.
    def walk(self, thread, space, name, pc, stack, mapping):
        function, callers = space.function(pc, mapping), []
        hook_at = None
        for word in stack_words(thread, stack, space.begins[0], space.mappings[-1].end):
            found = space.find(word)
            if found is None or found.path.startswith("["):
                continue
            if is_libc(found.path):
                if not callers:
                    function = space.function(word - 1, found) or function
            elif "libhostprobe" not in found.path:
                callers.append(os.path.basename(found.path))
            elif hook_at is None and (hook := space.function(word - 1, found)) and function in (hook, None):
                function, hook_at = hook, len(callers)
            if len(callers) > (hook_at or 0) + 8:
                break
        behind = callers[hook_at or 0:]
        return Place(name, function or "?", behind[0] if behind else "?", hook_at is not None)
