"""A report keeps to --memory-mb: what is more lies in files without a name."""

from imported import ImportTest, call, kernel, main
from probed import COMMAND

MIB = 1 << 20
KERNELS = 120_000
LITTLE_MB = 8
TIGHT = 64 * MIB  # memory of its own, threads' stacks among it; pages of files do not count


class Memory(ImportTest):
    def setUp(self):
        super().setUp()
        events = []
        for number in range(KERNELS):
            at = 10.0 * number
            events.append(call("cudaLaunchKernel", at, 2, number + 1))
            events.append(kernel(f"kernel_{number % 7}", at + 3, 9, number + 1, stream=7 + number % 2))
        self.import_profile(events)
        self.files = self.folder / "files"
        self.files.mkdir()

    def report(self, memory_mb, status=0, most=None, folder=None):
        limit = ("prlimit", f"--data={most}") if most else ()
        out, err = self.run_program(*limit, COMMAND, "report", "--json", "--memory-mb", memory_mb, self.run_folder,
                                    status=status, TMPDIR=str(folder or self.files))
        self.assertEqual(list(self.files.iterdir()), [])
        return out, err

    def test_what_is_more_lies_in_files_and_changes_nothing(self):
        whole = self.report(4096)
        self.assertIn(f'"kernels": {KERNELS}', whole[0])
        self.assertEqual(self.report(LITTLE_MB), whole)
        # It is not held in memory after all: where the kernel gives no more, the report comes, and without files it does not.
        self.assertEqual(self.report(LITTLE_MB, most=TIGHT), whole)
        out, err = self.report(4096, most=TIGHT, status=1)
        self.assertEqual(out, "")
        self.assertIn("--memory-mb", err)

    def test_no_room_for_files_is_said_and_takes_memory(self):
        whole = self.report(4096)[0]
        missing = self.folder / "missing"
        out, err = self.report(LITTLE_MB, folder=missing)
        self.assertEqual(out, whole)
        self.assertEqual(len(err.splitlines()), 1)
        for word in (f"{LITTLE_MB} MiB", str(missing), "TMPDIR"):
            self.assertIn(word, err)


if __name__ == "__main__":
    main()
