"""A cluster in network namespaces, as root: nodes with links of a given rate, a Ray node on each, and a place for a store.

Each node is a network, mount and process namespace of its own, with its own /dev/shm and /tmp; all hang on a bridge in
yet another namespace, so that nothing of the machine's own network is touched. The links are made slow by `tc tbf` in
both directions. What a killed node leaves behind goes with its namespaces.
"""
import contextlib
import ctypes
import json
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

VENV = pathlib.Path(sys.prefix)
STORE_ADDRESS = "10.77.0.5"
STORE_PORT = 9000
READY_SECONDS = 120
RAY = {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0", "OMP_NUM_THREADS": "1",
       "RAY_memory_monitor_refresh_ms": "0", "RAY_num_prestart_python_workers": "0", "RAY_enable_autoscaler_v2": "0",
       "RAY_prestart_worker_first_driver": "0", "RAY_worker_register_timeout_seconds": "120",
       # a dead node is known after seconds, not minutes
       "RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "500",
       "RAY_health_check_timeout_ms": "1000", "RAY_health_check_failure_threshold": "3"}


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def do(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def can():
    """Whether networks can be made here at all."""
    return os.geteuid() == 0 and all(map(shutil.which, ("ip", "tc", "nsenter", "unshare"))) and \
        subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0


def address_of(node):
    return f"10.77.0.{10 + node}"


class Network:
    """Namespaces with links: `n` nodes of `mbit` Mbit/s each way, and one without a limit for the store."""

    def __init__(self, n, mbit):
        self.prefix = f"hr{os.getpid()}"
        self.bridge = self.prefix + "br"
        self.names = [f"{self.prefix}n{i}" for i in range(n)]
        self.store = self.prefix + "s"
        try:
            do("ip", "netns", "add", self.bridge)
            self.in_bridge("ip", "link", "add", "br0", "type", "bridge")
            self.in_bridge("ip", "link", "set", "br0", "up")
            for i, name in enumerate(self.names):
                self.add(name, address_of(i), mbit)
            self.add(self.store, STORE_ADDRESS, None)
        except BaseException:
            self.close()
            raise

    def in_bridge(self, *words):
        do("ip", "netns", "exec", self.bridge, *words)

    def add(self, name, address, mbit):
        port = "p" + name.removeprefix(self.prefix)
        do("ip", "netns", "add", name)
        do("ip", "-n", name, "link", "set", "lo", "up")
        do("ip", "link", "add", port, "netns", self.bridge, "type", "veth", "peer", "name", "eth0", "netns", name)
        self.in_bridge("ip", "link", "set", port, "master", "br0", "up")
        do("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
        do("ip", "-n", name, "link", "set", "eth0", "up")
        do("ip", "-n", name, "route", "add", "default", "dev", "eth0")
        if mbit is not None:
            self.limit(name, mbit)

    def limit(self, name, mbit):
        """The rate of that namespace's link from now on."""
        shape = ("root", "tbf", "rate", f"{mbit}mbit", "burst", "64kb", "latency", "200ms")
        do("tc", "-n", name, "qdisc", "replace", "dev", "eth0", *shape)
        do("tc", "-n", self.bridge, "qdisc", "replace", "dev", "p" + name.removeprefix(self.prefix), *shape)

    def cut(self, node):
        """Nothing comes to that node or from it any more."""
        do("ip", "-n", self.names[node], "link", "set", "eth0", "down")

    def carried(self, node):
        """(bytes into that node, bytes out of it) so far."""
        told = json.loads(subprocess.run(["ip", "-n", self.names[node], "-s", "-j", "link", "show", "eth0"], check=True,
                                         stdout=subprocess.PIPE).stdout)[0]["stats64"]
        return told["rx"]["bytes"], told["tx"]["bytes"]

    def close(self):
        for name in [*self.names, self.store, self.bridge]:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)


class Cluster:
    """A Ray node in each of the namespaces; node 0 is the head.

    :param cpus: that each node offers; a list of as many, node by node.
    :param store_bytes: of each node's object store.
    :param env: more for the environment of all that runs there.
    :param serve: (folder, milliseconds each way, build folder): a real S3 server in the store's namespace; what its clients
        need is in the environment of the nodes.
    """

    def __init__(self, n, mbit, *, cpus=32, store_bytes=200 << 20, env=None, serve=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hr-net-"))
        (self.folder / "token").write_text(secrets.token_hex(32))
        self.environment = {**os.environ, **RAY, **(env or {}), "RAY_AUTH_TOKEN_PATH": str(self.folder / "token")}
        self.network, self.nodes, self.server = None, [], None
        try:
            self.network = Network(n, mbit)
            if serve is not None:
                self.environment.update(self.serve(*serve))
            for i in range(n):
                self.nodes.append(self.start(i, cpus if isinstance(cpus, int) else cpus[i], store_bytes))
                if i == 0:
                    self.wait_for_head()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def address(self):
        return f"{address_of(0)}:6379"

    def start(self, node, cpus, store_bytes):
        """A shell that is process 1 of the node; everything in it dies with that."""
        words = [VENV / "bin" / "ray", "start", "--block", "--disable-usage-stats", "--include-log-monitor=false",
                 "--node-ip-address", address_of(node), "--object-store-memory", str(store_bytes), "--num-cpus", str(cpus)]
        words += ["--head", "--port", "6379", "--include-dashboard=false"] if node == 0 else ["--address", self.address]
        private = 'mount -t tmpfs tmpfs /dev/shm && mount -t tmpfs tmpfs /tmp && mkdir /tmp/ray && "$@" & trap "kill $!" TERM; wait'
        # the folder with the token lies in /tmp: it is handed in
        token = "token=$(cat \"$RAY_AUTH_TOKEN_PATH\"); " + private.replace(
            "mkdir /tmp/ray", 'mkdir -p /tmp/ray "${RAY_AUTH_TOKEN_PATH%/*}" && echo -n "$token" >"$RAY_AUTH_TOKEN_PATH"')
        with open(self.folder / f"node{node}.log", "wb") as log:
            return subprocess.Popen(["ip", "netns", "exec", self.network.names[node], "unshare", "--mount", "--pid", "--fork",
                                     "--kill-child", "--mount-proc", "--propagation", "private", "bash", "-c", token, "_", *words],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self.environment,
                                    preexec_fn=die_with_parent)

    def wait_for_head(self):
        until = time.monotonic() + READY_SECONDS
        while subprocess.run(["ip", "netns", "exec", self.network.names[0], "bash", "-c",
                              f"exec 3<>/dev/tcp/{address_of(0)}/6379"], stderr=subprocess.DEVNULL, check=False).returncode:
            if time.monotonic() > until or self.nodes[0].poll() is not None:
                raise RuntimeError("the head does not start:\n" + (self.folder / "node0.log").read_text(errors="replace"))
            time.sleep(0.1)

    def inside(self, node, *words, **options):
        """A process on that node."""
        pid, until = self.nodes[node].pid, time.monotonic() + READY_SECONDS
        while not (first := pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()):
            if time.monotonic() > until or self.nodes[node].poll() is not None:
                raise RuntimeError(f"node {node} is not there:\n" + (self.folder / f"node{node}.log").read_text(errors="replace"))
            time.sleep(0.1)  # it has just been started
        return subprocess.Popen(["nsenter", "-t", first[0], "-n", "-m", "-p", f"--wd={os.getcwd()}", *words],
                                env=self.environment | options.pop("env", {}), **options)

    def serve(self, root, delay_ms, build):
        """A real S3 server in the store's namespace, twice `delay_ms` away: what its clients need in their environment."""
        here = pathlib.Path(__file__).resolve().parent
        proxy = f'echo "$AWS_ACCESS_KEY_ID $AWS_SECRET_ACCESS_KEY $AWS_REGION"; exec "$0" --to "${{AWS_ENDPOINT_URL#http://}}" ' \
                f"--listen {STORE_ADDRESS}:{STORE_PORT} --delay {delay_ms}"
        with open(self.folder / "server.log", "wb") as log:
            self.server = subprocess.Popen(
                ["ip", "netns", "exec", self.network.store, here.parent / "s3/server", "--root", root, "bash", "-c", proxy,
                 pathlib.Path(build) / "tests/s3/delay"], stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=die_with_parent,
                # HR_VENV is Ray's here, and the server's programs are in the tests' own
                env={name: value for name, value in os.environ.items() if name != "HR_VENV"})
        words = self.server.stdout.readline().split()
        if not self.server.stdout.readline().startswith("listening"):  # one of the two has ended, and so has its output
            raise RuntimeError("the store does not start:\n" + (self.folder / "server.log").read_text(errors="replace"))
        key, secret, region = words
        return {"AWS_ENDPOINT_URL": f"http://{STORE_ADDRESS}:{STORE_PORT}", "AWS_ACCESS_KEY_ID": key, "AWS_SECRET_ACCESS_KEY": secret,
                "AWS_REGION": region, "AWS_EC2_METADATA_DISABLED": "true"}

    def kill(self, node):
        """The machine loses its power."""
        self.nodes[node].kill()
        self.nodes[node].wait()

    @property
    def alive(self):
        """The numbers of those nodes that have not been killed."""
        return [i for i, node in enumerate(self.nodes) if node.poll() is None]

    def find(self, text):
        """Processes on all nodes with that in their command line."""
        networks = {os.stat(f"/run/netns/{name}").st_ino for name in self.network.names}
        found = []
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if text.encode() in (entry / "cmdline").read_bytes() and os.stat(entry / "ns/net").st_ino in networks:
                    found.append(int(entry.name))
        return found

    def cpu_seconds(self, node):
        """Of all processes on that node, and of those that have ended."""
        ticks = 0
        script = "cat /proc/[0-9]*/stat"
        with self.inside(node, "sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            for line in process.stdout:
                ticks += sum(int(word) for word in line.rpartition(")")[2].split()[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")

    def close(self):
        for process in [*self.nodes, self.server]:
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGKILL if process is not self.server else signal.SIGTERM)
        for process in [*self.nodes, self.server]:
            if process is not None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=30)
        if self.server is not None:
            self.server.stdout.close()
        if self.network is not None:
            self.network.close()
        shutil.rmtree(self.folder, ignore_errors=True)
