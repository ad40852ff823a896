"""A bare Debian in a folder, made from the package sources of this machine, to install things in.

Its mounts (proc, dev) live in a namespace of their own and end with each command.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

SUITE = "bookworm"
CARRIED = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
# what is run in there: its own mounts, then the command in the new root
INSIDE = r"""
set -e
cd "$1"; shift
mount -t proc proc proc
mount -t tmpfs -o mode=755,nosuid dev dev
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
for node in null zero full random urandom tty; do
  : >dev/$node
  mount --bind /dev/$node dev/$node
done
ln -s /proc/self/fd dev/fd
exec chroot . "$@"
"""


class NoRoot(Exception):
    """why there can be none"""


def sources():
    """the files of this machine that say where the suite's packages are"""
    folder = pathlib.Path("/etc/apt")
    files = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*.list")), *sorted(folder.glob("sources.list.d/*.sources"))]
    return [f for f in files if f.exists() and re.search(rf"^(?!\s*#).*\b{SUITE}\b", f.read_text(), re.M)]


def check():
    if os.geteuid() != 0:
        raise NoRoot("a root file system is made by root")
    missing = [name for name in ("mmdebstrap", "unshare", "chroot") if not shutil.which(name)]
    if missing:
        raise NoRoot(f"there is no {', '.join(missing)}: run tools/install-deps packaging")
    if not sources():
        raise NoRoot(f"the package sources of this machine do not name {SUITE}")


def bootstrap(target, include=()):
    """Debian's smallest set of packages, as a folder, or as an archive if the name ends in .tar; nothing in it need reach the disk"""
    run(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", f"--include={','.join(include)}" if include else "--include=apt",
         "--dpkgopt=force-unsafe-io", "--aptopt=Acquire::Retries \"3\"", SUITE, str(target), *map(str, sources())])


def run(command, **how):
    """the output; an error has all of it"""
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=how.pop("timeout", 1800), stdin=subprocess.DEVNULL, errors="replace", **how)
    if done.returncode:
        words = " ".join(str(c) for c in command if c != INSIDE)
        raise AssertionError(f"{words}: {done.returncode}\n{done.stdout[-6000:]}")
    return done.stdout


class Root:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        bootstrap(self.folder)
        shutil.copy("/etc/resolv.conf", self.folder / "etc/resolv.conf")

    def run(self, *command, user=None, **how):
        if user:
            command = ("runuser", "-u", user, "--", *command)
        kept = {name: os.environ[name] for name in CARRIED if name in os.environ}
        return run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", INSIDE, "sh", self.folder, *command],
                   env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                        **kept}, **how)

    def apt(self, *words):
        return self.run("apt-get", "-qq", "-y", "-o", "Dpkg::Use-Pty=0", *words)

    def files(self):
        """every path there is, but what apt and dpkg note for themselves"""
        own = re.compile(r"/(var/(log|cache)/|var/lib/(apt|dpkg)/(lists|periodic|extended_states|status|available|diversions|triggers"
                         r"|info/format|updates|lock)|etc/ld\.so\.cache|tmp/|run/|proc/|dev/|sys/)")
        paths = (os.path.join(where, name)[len(str(self.folder)):] for where, folders, names in os.walk(self.folder)
                 for name in folders + names)
        return {path for path in paths if not own.match(path)}

    def remove(self):
        mounts = [line.split()[4] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()]
        assert not [m for m in mounts if m.startswith(f"{self.folder}/")], mounts
        subprocess.run(["rm", "-rf", "--one-file-system", str(self.folder)], check=True)


def tests(namespace, setup):
    """runs the test_* functions with what setup() makes, as TAP"""
    cases = [(name, f) for name, f in namespace.items() if name.startswith("test_")]
    try:
        check()
        have = setup()
    except NoRoot as why:
        print(f"1..0 # SKIP {why}")
        return
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    try:
        for i, (_, case) in enumerate(cases, 1):
            try:
                case(have)
                print(f"ok {i} {case.__doc__}", flush=True)
            except Exception as error:  # whatever it was, it is a line of TAP
                failed += 1
                print("# " + f"{type(error).__name__}: {error}".replace("\n", "\n# "))
                print(f"not ok {i} {case.__doc__}", flush=True)
    finally:
        have.remove()
    sys.exit(1 if failed else 0)
