"""usage: test-shm-kill.py HR_LAUNCH ROUNDS: either end of shared memory is killed at any moment

The other end must end by itself, with an error that says so, in time; and what was there must be free again.
"""
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time

LAUNCH, ROUNDS = sys.argv[1], int(sys.argv[2])
TIMEOUT = 60
WRITER = "fakesrc size=20000 ! batch size=3 ! prefetchqueue max-batches=2 ! shmsink"
READER = "max-batches=2 ! identity ! fakesink"


def start(text: str, fds: tuple[int, ...] = (), stall: int = 0) -> subprocess.Popen[str]:
    environment = dict(os.environ, **({"HR_STALL": str(stall)} if stall else {}))
    return subprocess.Popen([LAUNCH, "-q", text], pass_fds=fds, env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))


def outcome(process: subprocess.Popen[str]) -> tuple[int, str]:
    try:
        _, errors = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        return -1, "hangs: " + process.communicate()[1]
    return process.returncode, errors


def kill_one_of_two(rng: random.Random) -> None:
    """By a socket pair: from the very first moment."""
    ours = socket.socketpair()
    for end in ours:
        end.set_inheritable(True)
    stall = rng.randrange(1, 1000) if rng.random() < 0.5 else 0
    writer = start(f"{WRITER} fd={ours[0].fileno()}", (ours[0].fileno(),), stall)
    reader = start(f"shmsrc fd={ours[1].fileno()} {READER}", (ours[1].fileno(),), stall)
    for end in ours:
        end.close()
    time.sleep(rng.random() ** 2 * 0.15)
    victim, other = rng.sample([writer, reader], 2)
    victim.send_signal(signal.SIGKILL)
    outcome(victim)
    status, errors = outcome(other)
    assert status == 1, f"status {status}: {errors}"
    assert "has died" in errors, errors
    assert ("shmsrc0" if other is reader else "shmsink0") in errors, errors


def kill_one_of_three(rng: random.Random, address: str) -> None:
    """By name: the second reader hears of the first one's death; the name is free at once."""
    writer = start(f"{WRITER} address={address} readers=2")
    readers = [start(f"shmsrc address={address} reader={i} {READER} silent=false sync-every=1") for i in range(2)]
    for reader in readers:  # a batch comes only when all have been let in; one that dies before is forgotten
        assert reader.stdout.readline(), [outcome(p) for p in readers]
    time.sleep(rng.random() * 0.1)
    everybody = [writer, *readers]
    victim = rng.choice(everybody)
    victim.send_signal(signal.SIGKILL)
    outcome(victim)
    for process in everybody:
        if process is not victim:
            status, errors = outcome(process)
            assert status == 1, f"status {status}: {errors}"
            assert "has died" in errors, errors


def main() -> int:
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    rng = random.Random(seed)
    print(f"# SEED={seed}\n1..2", flush=True)
    address = f"kill-{os.getpid()}"
    for number, (name, n, kill) in enumerate([("socket-pair", ROUNDS, lambda: kill_one_of_two(rng)),
                                              ("name", max(ROUNDS // 5, 1), lambda: kill_one_of_three(rng, address))], 1):
        try:
            for _ in range(n):
                kill()
            print(f"ok {number} /shm-kill/{name}", flush=True)
        except AssertionError as error:
            print(f"not ok {number} /shm-kill/{name}\n# " + str(error).replace("\n", "\n# "), flush=True)
    return 0


sys.exit(main())
