#!/usr/bin/env python3
"""The fix `pin`: CPUs for the main thread and for NCCL's progress threads, given and taken back in running programs."""

import os
import unittest

import probed
from placed import PlacedTest, list_of

ALL = os.sched_getaffinity(0)
PROGRESS = "start('NCCL Progress 0')\nstart('worker')\n"
MEET = """
class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_byte * 128)]

def make_communicator(rank, path):
    nccl, made, unique_id = ctypes.CDLL("libnccl.so.2"), ctypes.c_void_p(), UniqueId()
    if rank == 0:
        assert nccl.ncclGetUniqueId(ctypes.byref(unique_id)) == 0
        open(path + ".part", "wb").write(bytes(unique_id))
        os.rename(path + ".part", path)
    while not os.path.exists(path):
        time.sleep(0.01)
    unique_id = UniqueId.from_buffer_copy(open(path, "rb").read())
    assert nccl.ncclCommInitRank(ctypes.byref(made), 2, unique_id, rank) == 0

def meet(*how):
    threading.Thread(target=make_communicator, args=how, daemon=True).start()
"""


@unittest.skipIf(len(ALL) < 2, "two CPUs are needed")
class FixPin(PlacedTest):
    def is_pinned(self, process):
        masks = self.masks(process)
        one = [masks["main"], *masks["progress"]]
        return all(len(mask) == 1 for mask in one) and len(set.union(*one)) == len(one) and masks

    def is_as_before(self, process):
        masks = self.masks(process)
        return all(mask == ALL for mask in [masks["main"], *masks["progress"], *masks["others"]])

    def test_roles_have_cpus_of_their_own_from_the_start(self):
        process = self.place("--fix", "pin", setup=PROGRESS)
        masks = self.until(lambda: self.is_pinned(process))
        self.assertEqual(len(masks["progress"]), 1)
        left = ALL - masks["main"] - masks["progress"][0] or ALL
        self.until(lambda: all(mask == left for mask in self.masks(process)["others"]))
        said = self.await_event(process, "pin on: ")
        self.assertIn(f"main on CPU {list_of(masks['main'])}, progress on", said)
        self.assertTrue(said.endswith(f" of {list_of(ALL)}"), said)
        self.end(process)

    def test_on_and_off_on_a_running_program(self):
        process = self.place(setup=PROGRESS)
        for _ in range(2):
            self.ctl(process, "on", "pin")
            self.until(lambda: self.is_pinned(process))
            self.ctl(process, "off", "pin")
            self.until(lambda: self.is_as_before(process))
        self.end(process)
        said = [text.split(":")[0] for text in self.events_now(process)]
        self.assertEqual(said, ["pin on", "pin off"] * 2)

    def test_the_program_does_not_notice(self):
        process = self.place("--fix", "pin", setup=PROGRESS)
        self.until(lambda: self.is_pinned(process))
        self.assertEqual(set(self.ask(process, "list(os.sched_getaffinity(0))")), ALL)
        self.assertEqual(set(self.ask(process, "list(os.sched_getaffinity(os.getpid()))")), ALL)
        self.assertEqual(set(self.ask(process, "list(os.sched_getaffinity(os.getppid()))")), ALL)
        mask = "(m := (ctypes.c_ulong * 32)(), libc.pthread_getaffinity_np(ctypes.c_ulong(libc_self()), 256, m), list(m)[:2])[1:]"
        mask = mask.replace("libc_self()", "threading.get_ident()")
        first = [sum(1 << cpu % 64 for cpu in ALL if cpu // 64 == word) for word in (0, 1)]
        self.assertEqual(self.ask(process, mask), [0, first])
        self.end(process)

    def test_children_and_programs_that_it_runs_are_not_pinned(self):
        process = self.place("--fix", "pin", setup=PROGRESS)
        self.until(lambda: self.is_pinned(process))
        self.assertEqual(self.ask(process, "of_child(own_mask)"), list_of(ALL))
        self.assertEqual(self.ask(process, "of_child(of_program)"), list_of(ALL))
        self.assertEqual(self.ask(process, "of_program()"), list_of(ALL))
        self.assertEqual(self.ask(process, "of_child(lambda: str(sorted(os.sched_setaffinity(0, {MAIN}) or "
                                  "os.sched_getaffinity(0))))".replace("MAIN", list_of(self.masks(process)["main"]))),
                         str(sorted(self.masks(process)["main"])))
        self.assertTrue(self.is_pinned(process))
        self.end(process)

    def test_new_threads_are_placed_as_they_appear(self):
        process = self.place("--fix", "pin")
        self.until(lambda: self.is_pinned(process))
        self.ask(process, "start('worker')")
        main = self.masks(process)["main"]
        left = ALL - main
        self.until(lambda: all(len(mask & left) > 0 for mask in self.masks(process)["others"]))
        self.ask(process, "start('NCCL Progress 0')")
        self.until(lambda: len(self.masks(process)["progress"]) == 1 and self.is_pinned(process))
        self.end(process)

    def test_too_few_cpus_change_nothing(self):
        process = self.place("--fix", "pin", setup=PROGRESS, LOCAL_WORLD_SIZE=str(len(ALL)))
        said = self.await_event(process, "pin stands back")
        self.assertEqual(said, f"pin stands back: {2 * len(ALL)} CPUs are needed, there are {len(ALL)}")
        self.assertTrue(self.is_as_before(process))
        self.end(process)

    def test_what_the_program_has_bound_stays(self):
        process = self.place("--fix", "pin", setup=PROGRESS + "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n")
        said = self.await_event(process, "pin stands back")
        self.assertIn("main thread", said)
        self.assertEqual(self.masks(process)["main"], {min(ALL)})
        self.end(process)

    def test_what_the_program_binds_later_stays(self):
        process = self.place("--fix", "pin", setup=PROGRESS)
        masks = self.until(lambda: self.is_pinned(process))
        other = ALL - masks["main"] if len(ALL) > 2 else masks["progress"][0]
        self.ask(process, f"os.sched_setaffinity(0, {other})")
        self.await_event(process, "pin stands back")
        masks = self.masks(process)
        self.assertEqual(masks["main"], other)
        self.assertEqual(masks["progress"], [ALL])
        self.ctl(process, "off", "pin")
        self.until(lambda: self.masks(process)["main"] == other)
        self.end(process)

    def test_a_thread_with_a_mask_of_its_own_keeps_it(self):
        own = {max(ALL)}
        process = self.place(setup=PROGRESS)
        worker = self.until(lambda: [tid for tid, name in self.threads(process) if name == "worker"])[0]
        os.sched_setaffinity(worker, own)
        self.ctl(process, "on", "pin")
        self.until(lambda: self.is_pinned(process))
        self.ctl(process, "off", "pin")
        self.await_event(process, "pin off")
        self.assertEqual(os.sched_getaffinity(worker), own)
        self.end(process)

    def test_ranks_do_not_take_each_others_cpus(self):
        ranks = []
        for rank in range(len(ALL) // 2 + 1):
            ranks.append(self.place("--fix", "pin", setup=PROGRESS, where=f"rank{rank}", SIMNODE_HOSTS="2"))
            if len(ALL) > 4 and rank == 1:
                break
            if rank < len(ALL) // 2:
                self.until(lambda rank=ranks[-1]: self.is_pinned(rank))
            else:
                self.await_event(ranks[-1], "pin stands back: 2 CPUs are needed")
                self.assertTrue(self.is_as_before(ranks[-1]))
        pinned = [self.until(lambda rank=rank: self.is_pinned(rank)) for rank in ranks[:min(2, len(ALL) // 2)]]
        taken = [mask for masks in pinned for mask in (masks["main"], *masks["progress"])]
        self.assertEqual(len(set.union(*taken)), len(taken))
        # What one has taken is free once it has ended, however it did.
        os.kill(ranks[0].traced, 9)
        ranks[0].wait()
        ranks[0].communicate()
        self.ctl(ranks[-1], "off", "pin")
        self.until(lambda: self.is_as_before(ranks[-1]))
        self.ctl(ranks[-1], "on", "pin")
        self.until(lambda: self.is_pinned(ranks[-1]))
        for process in ranks[1:]:
            self.end(process)

    def test_all_ranks_of_a_communicator_or_none(self):
        ranks = []
        for rank in range(2):
            ranks.append(self.place("--fix", "pin", setup=PROGRESS + MEET, where=f"rank{rank}", RANK=str(rank), WORLD_SIZE="2",
                                    SIMNODE_HOSTS="2"))
            self.until(lambda: self.is_pinned(ranks[0]))  # nobody says that another rank is coming
        for rank, process in enumerate(ranks):
            self.ask(process, f"meet({rank}, {str(self.folder / 'unique_id')!r})")
        if len(ALL) >= 4:
            pinned = [self.until(lambda process=process: self.is_pinned(process)) for process in ranks]
            self.assertNotEqual(pinned[0]["main"], pinned[1]["main"])
        for process in ranks if len(ALL) < 4 else ():
            self.await_event(process, f"pin stands back: 4 CPUs are needed, there are {len(ALL)}")
            self.until(lambda process=process: self.is_as_before(process))
        for process in ranks:
            self.end(process)

    def test_fewer_cpus_while_running(self):
        process = self.place("--fix", "pin", setup=PROGRESS)
        self.until(lambda: self.is_pinned(process))
        os.sched_setaffinity(self.writer(process), {min(ALL)})  # as the kernel does with all threads when a cpuset shrinks
        self.await_event(process, f"the allowed CPUs were {list_of(ALL)} and are {min(ALL)}")
        self.await_event(process, "pin stands back: 2 CPUs are needed, there are 1")
        self.until(lambda: self.masks(process)["main"] == {min(ALL)})
        self.end(process)

    def test_no_place_for_what_ranks_take(self):
        process = self.place("--fix", "pin", setup=PROGRESS, XDG_RUNTIME_DIR="/proc/nowhere")
        self.await_event(process, "pin refused: no file")
        self.assertTrue(self.is_as_before(process))
        self.end(process)

    def test_a_rank_that_torchrun_has_bound_is_left_alone(self):
        process = self.place("--fix", "pin", before=("taskset", "-c", str(max(ALL))), TORCHELASTIC_RUN_ID="7")
        self.await_event(process, "pin stands back: torchrun has bound this rank")
        self.assertEqual(self.masks(process)["main"], {max(ALL)})
        self.end(process)

    def test_a_process_that_launches_nothing_is_not_pinned(self):
        process = self.place("--fix", "pin", launches=False, HOSTPROBE_TARGET="all", setup="start('worker')\n")
        self.await_event(process, "pin waits until")
        self.assertTrue(self.is_as_before(process))
        self.ctl(process, "off", "pin")
        self.end(process)

    def test_near_the_simulated_gpu(self):
        process = self.place("--fix", "pin", setup=PROGRESS, SIMNODE_SYSFS=str(self.folder / "sys"))
        self.assertTrue(self.await_event(process, "pin on").endswith(", near the GPU"))
        self.end(process)

    def test_as_nobody(self):
        os.chmod(self.folder, 0o777)
        process = self.place("--fix", "pin", setup=PROGRESS + "os.setgid(65534) or os.setuid(65534)\n")
        self.await_event(process, "pin on")
        self.end(process)


if __name__ == "__main__":
    probed.main()
