"""NVIDIA's libraries, fetched into the cache when they are first wanted; never installed, never in the repository.

The user-space drivers are packages of Debian's section non-free. apt gets them from the mirror that this machine uses, with
sources, lists and settings of its own: the machine's stay as they are. The CUDA runtimes are wheels. What cannot be had is
`Unavailable`, and is not tried again for ten minutes.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

SUITES = {"470": "bullseye", "535": "bookworm", "550": "trixie"}
PACKAGES = ("libcuda1", "libnvidia-ml1")  # the second is opened by NCCL
RUNTIMES = {"11": "nvidia-cuda-runtime-cu11==11.8.89", "12": "nvidia-cuda-runtime-cu12==12.9.79"}
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
GIVE_UP_S = 120
TRY_AGAIN_S = 600

# Whatever this machine does after an update of its own lists is not done after one of ours.
SETTINGS = """#clear APT::Update;
#clear DPkg::Post-Invoke;
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "{folder}/sources";
Dir::State::Lists "{folder}/lists";
Dir::State::Status "/dev/null";
Dir::Cache "{folder}/cache";
APT::Sandbox::User "";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
"""


class Unavailable(Exception):
    pass


def run(*command, **options):
    try:
        return subprocess.run([str(word) for word in command], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=GIVE_UP_S, check=True, **options).stdout
    except FileNotFoundError as error:
        raise Unavailable(f"there is no {error.filename}") from error
    except subprocess.TimeoutExpired as error:
        raise Unavailable(f"{command[0]} did not end within {GIVE_UP_S} s") from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip() or "it says nothing").splitlines()[-1]
        raise Unavailable(f"{command[0]} failed: {last}") from error


def mirror():
    """Where this machine's own packages come from."""
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    targets = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    for line in targets.splitlines():
        uri, *where = line.split()
        if where == [release.get("VERSION_CODENAME", "").strip('"'), "main"]:
            return uri
    raise Unavailable("apt has no sources of a Debian release")


def unpack_driver(version, folder):
    apt = folder / "apt"
    for name in ("sources", "lists/partial", "cache/archives/partial", "packages"):
        (apt / name).mkdir(parents=True)
    signed = f"Signed-By: {KEYS}\n" if KEYS.exists() else ""
    (apt / "sources/driver.sources").write_text(
        f"Types: deb\nURIs: {mirror()}\nSuites: {SUITES[version]}\nComponents: non-free\nArchitectures: amd64\n{signed}")
    (apt / "settings").write_text(SETTINGS.format(folder=apt))
    run("apt-get", "-c", apt / "settings", "-qq", "update")
    run("apt-get", "-c", apt / "settings", "-qq", "download", *PACKAGES, cwd=apt / "packages")
    for package in (apt / "packages").glob("*.deb"):
        run("dpkg", "-x", package, apt / "root")
    libraries = list((apt / "root").rglob("libcuda.so.1"))
    if not libraries:
        raise Unavailable(f"the packages of {SUITES[version]} hold no libcuda.so.1")
    for library in libraries[0].parent.iterdir():
        library.rename(folder / library.name)
    shutil.rmtree(apt)


def unpack_runtime(version, folder, python):
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-cache-dir", "--timeout", "20", "--retries", "1",
        "--target", folder / "wheel", RUNTIMES[version])
    for library in (folder / "wheel").rglob("libcudart.so.*"):
        library.rename(folder / library.name)
    shutil.rmtree(folder / "wheel")


def entry(cache, name, unpack):
    """The folder `name` of the cache; `unpack(folder)` fills it, once, and it appears when it is whole."""
    cache.mkdir(parents=True, exist_ok=True)
    failure = cache / f"{name}.unavailable"
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (cache / name).exists():
            return cache / name
        if failure.exists() and time.time() - failure.stat().st_mtime < TRY_AGAIN_S:
            raise Unavailable(failure.read_text() + " (a moment ago)")
        with tempfile.TemporaryDirectory(dir=cache, prefix=f"{name}.") as folder:
            try:
                made = Path(folder) / name
                made.mkdir()
                unpack(made)
                os.rename(made, cache / name)
            except Unavailable as error:
                failure.write_text(str(error))
                raise
    return cache / name


def driver(cache, version):
    """The folder of a driver's libcuda.so.1."""
    return entry(cache / "real-drivers", version, lambda folder: unpack_driver(version, folder))


def runtime(cache, version, python):
    """NVIDIA's libcudart of a major version."""
    folder = entry(cache / "real-drivers", f"cudart-{version}", lambda made: unpack_runtime(version, made, python))
    return next(folder.glob("libcudart.so.*"))
