#!/usr/bin/env python3
"""The fixes `spin` and `timer_slack`: waits with and without them, turned on and off in running programs."""

import errno

import probed
from placed import PlacedTest

SEMAPHORE = """
import signal
class Time(ctypes.Structure):
    _fields_ = [("s", ctypes.c_long), ("ns", ctypes.c_long)]
sem, to, fro = (ctypes.create_string_buffer(32) for _ in range(3))
for each in (sem, to, fro):
    libc.sem_init(each, 0, 0)
signal.signal(signal.SIGALRM, lambda *_: None)

def until(ms):
    end = time.time() + 0.001 * ms
    return ctypes.byref(Time(int(end), int(end % 1 * 1e9)))

def interrupted():
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    return sem_wait(libc.sem_wait, sem)

def hand_over(times):
    def other():
        for _ in range(times):
            libc.sem_wait(to)
            libc.sem_post(fro)
    thread = threading.Thread(target=other)
    thread.start()
    for _ in range(times):
        libc.sem_post(to)
        libc.sem_wait(fro)
    thread.join()
    return [libc.sem_trywait(to), libc.sem_trywait(fro)]
"""
SLACK = "libc.prctl(30, 0, 0, 0, 0)"


class FixWaits(PlacedTest):
    def place(self, *options, **changes):
        return super().place(*options, launches=False, HOSTPROBE_TARGET="all", **changes)

    def check_waits(self, process):
        self.assertEqual(self.ask(process, "sem_wait(libc.sem_timedwait, sem, until(20))"), [-1, errno.ETIMEDOUT])
        self.assertEqual(self.ask(process, "sem_wait(libc.sem_timedwait, sem, until(-20))"), [-1, errno.ETIMEDOUT])
        self.assertEqual(self.ask(process, "sem_wait(libc.sem_timedwait, sem, ctypes.byref(Time(1, -1)))"), [-1, errno.EINVAL])
        self.assertEqual(self.ask(process, "sem_wait(libc.sem_clockwait, sem, 1, ctypes.byref(Time(1, 0)))"), [-1, errno.ETIMEDOUT])
        self.assertEqual(self.ask(process, "sem_wait(libc.sem_clockwait, sem, 77, until(20))"), [-1, errno.EINVAL])
        self.assertEqual(self.ask(process, "interrupted()"), [-1, errno.EINTR])
        self.assertEqual(self.ask(process, "[libc.sem_post(sem), sem_wait(libc.sem_wait, sem)]"), [0, [0, 0]])
        self.assertEqual(self.ask(process, "hand_over(2000)"), [-1, -1])

    def test_spin_on_and_off_on_a_running_program(self):
        process = self.place(setup=SEMAPHORE)
        self.check_waits(process)
        for _ in range(2):
            self.ctl(process, "on", "spin")
            self.until(lambda: len(self.events_now(process)) % 2 == 1)
            self.check_waits(process)
            self.ctl(process, "off", "spin")
            self.until(lambda: len(self.events_now(process)) % 2 == 0)
            self.check_waits(process)
        self.end(process)
        said = self.events_now(process)
        self.assertEqual([text.split(":")[0] for text in said], ["spin on", "spin off"] * 2)
        self.assertRegex(said[1], r"^spin off: \d+ of \d+ waits that polled did not sleep; it took \d+\.\d ms$")

    def test_the_longest_poll_is_a_setting(self):
        process = self.place("--fix", "spin", "--spin-us", "7", setup=SEMAPHORE)
        self.await_event(process, "poll for 7 us at most")
        self.check_waits(process)
        self.end(process)
        self.assertTrue(any(text.startswith("spin until the end: ") for text in self.events_now(process)))

    def test_slack_on_and_off_on_a_running_program(self):
        process = self.place()
        before = self.ask(process, SLACK)
        self.assertGreater(before, 1)
        for _ in range(2):
            self.ctl(process, "on", "timer_slack")
            self.until(lambda: self.ask(process, SLACK) == 1)
            self.assertEqual(self.ask(process, f"of_child(lambda: str({SLACK}))"), str(before))
            self.assertEqual(self.ask(process, SLACK), 1)
            self.ctl(process, "off", "timer_slack")
            self.until(lambda: self.ask(process, SLACK) == before)
        self.end(process)
        said = self.events_now(process)
        self.assertEqual([text.split(":")[0] for text in said], ["timer_slack on", "timer_slack off"] * 2)
        self.assertEqual(said[0], f"timer_slack on: 1 ns instead of {before}, by each thread itself")

    def test_slack_without_privileges(self):
        process = self.place("--fix", "timer_slack", setup="os.chmod(folder, 0o777) or os.setgid(65534) or os.setuid(65534)\n")
        self.until(lambda: self.ask(process, SLACK) == 1)
        self.end(process)

    def test_slack_that_the_program_has_set_stays(self):
        process = self.place()
        self.ask(process, "libc.prctl(29, 777, 0, 0, 0)")
        self.ctl(process, "on", "timer_slack")
        self.await_event(process, "timer_slack on")
        self.assertEqual(self.ask(process, SLACK), 777)
        self.ctl(process, "off", "timer_slack")
        self.await_event(process, "timer_slack off")
        self.assertEqual(self.ask(process, SLACK), 777)
        self.end(process)

    def test_less_slack_than_wanted_stays(self):
        process = self.place("--fix", "timer_slack", "--timer-slack-ns", "90000")
        self.await_event(process, "timer_slack stands back")
        self.assertLess(self.ask(process, SLACK), 90000)
        self.end(process)

    def test_both_together(self):
        process = self.place("--fix", "spin,timer_slack", setup=SEMAPHORE)
        self.until(lambda: self.ask(process, SLACK) == 1)
        self.check_waits(process)
        self.ctl(process, "off", "spin")
        self.check_waits(process)
        self.assertEqual(self.ask(process, SLACK), 1)
        self.ctl(process, "off", "timer_slack")
        self.until(lambda: self.ask(process, SLACK) > 1)
        self.check_waits(process)
        self.end(process)


if __name__ == "__main__":
    probed.main()
