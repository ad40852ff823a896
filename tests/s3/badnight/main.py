"""The command line of tools/bad-night-s3."""
import argparse
import asyncio
import ctypes
import json
import os
import re
import signal
import ssl
import sys
import threading

from . import answers, bodies, lists  # noqa: F401 (they fill the table) # pylint: disable=unused-import
from .faults import describe, select
from .rules import Night
from .server import Server
from .store import CHECKSUMS

KEY, SECRET, REGION = "AKIABADNIGHT", "bad/night+secret", "us-east-1"
ABOUT = """An S3 server that rehearses bad nights: it serves the folders of DIR as buckets, and spoils a share of
its answers, chosen by a seed: the same requests meet the same faults.

With a COMMAND: starts, runs the command with endpoint and credentials in its environment, tells on standard
error what it did, and exits as the command did. Without: prints the environment as NAME=VALUE lines and serves
until its standard input ends, SIGINT or SIGTERM."""


def seconds(text):
    found = re.fullmatch(r"([0-9.]+)(ms|s|)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no time: 30ms, 2s")
    return float(found[1]) / (1000 if found[2] == "ms" else 1)


def size(text):
    found = re.fullmatch(r"([0-9.]+)([kMG]?)B?(?:/s)?", text)
    if not found:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no rate: 100MB, in bytes a second")
    return float(found[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[found[2]]


def rate(text):
    number = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"\"{text}\" is no share: 1% or 0.01")
    return number


def parse(args):
    parser = argparse.ArgumentParser(prog="bad-night-s3", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description=ABOUT, epilog="faults:\n" + describe())
    add = parser.add_argument
    add("--root", metavar="DIR", help="one folder a bucket; without it there are no buckets yet")
    add("--seed", type=int, default=1, help="of all draws (1)")
    add("--rate", type=rate, default=0.0, metavar="SHARE", help="of the answers that are spoiled: 1%%, 0.01 (0)")
    add("--faults", default="survivable", metavar="NAMES", help="which: names, kinds, all, or survivable (legal and "
        "passing); -name takes one away (survivable)")
    add("--rules", metavar="FILE", help="a JSON list of rules, which come before the rate; see docs/bad-nights.md")
    add("--address", default="127.0.0.1", metavar="IP,…", help="to listen on (127.0.0.1)")
    add("--port", type=int, default=0, help="the same on all addresses; 0: any that is free (0)")
    add("--domain", action="append", default=[], metavar="NAME", help="BUCKET.NAME is taken for the bucket (localhost)")
    add("--tls", metavar="CERT,KEY", help="PEM files: speak TLS")
    add("--access-key", default=KEY)
    add("--secret-key", default=SECRET)
    add("--session-token", default="")
    add("--region", default=REGION)
    add("--anonymous", action="store_true", help="requests without a signature are answered too")
    add("--requester-pays", action="append", default=[], metavar="BUCKET")
    add("--checksum", choices=CHECKSUMS, default="crc32c", help="given to who asks with x-amz-checksum-mode (crc32c)")
    add("--clock-skew", type=float, default=0, metavar="SECONDS", help="how far the server's clock is ahead (0)")
    add("--latency", type=seconds, default=0, metavar="TIME", help="before each answer: 30ms (0)")
    add("--jitter", type=seconds, default=0, metavar="TIME", help="more of it, exponential, with that mean (0)")
    add("--bandwidth", type=size, default=0, metavar="BYTES", help="a second, all connections together: 100MB (any)")
    add("--connection-bandwidth", type=size, default=0, metavar="BYTES", help="a second and connection (any)")
    add("--log", metavar="FILE", help="a JSON line for each request: what it was, what was done to it")
    add("command", nargs=argparse.REMAINDER, metavar="-- COMMAND")
    options = parser.parse_args(args)
    options.domain = options.domain or ["localhost"]
    if options.command[:1] == ["--"]:
        options.command = options.command[1:]
    if options.root and not os.path.isdir(options.root):
        parser.error(f"--root: there is no folder {options.root}")
    return parser, options


def make_tls(names):
    if not names:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*names.split(","))
    return context


def environment(server, options):
    host, port = server.addresses[0]
    host = f"[{host}]" if ":" in host else host
    values = {"AWS_ENDPOINT_URL": f"{'https' if server.tls else 'http'}://{host}:{port}",
              "AWS_ACCESS_KEY_ID": options.access_key, "AWS_SECRET_ACCESS_KEY": options.secret_key,
              "AWS_SESSION_TOKEN": options.session_token, "AWS_REGION": options.region,
              "AWS_DEFAULT_REGION": options.region, "AWS_EC2_METADATA_DISABLED": "true"}
    return {name: value for name, value in values.items() if value}


def summary(counts):
    faults = ", ".join(f"{n} {name}" for name, n in sorted(counts["faults"].items(), key=lambda p: (-p[1], p[0])))
    return (f"bad-night-s3: {counts['requests']} requests on {counts['connections']} connections, "
            f"{counts['bytes']} bytes; spoiled {sum(counts['faults'].values())}: {faults or 'none'}")


async def run(server, options):
    await server.listen()
    values = environment(server, options)
    ended = asyncio.get_running_loop().create_future()

    def end(*_):
        if not ended.done():
            ended.set_result(0)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    if options.command:
        # the user's own settings must not reach the command
        ours = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        child = await asyncio.create_subprocess_exec(
            *options.command, env={**ours, **values},
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM))  # it dies with us
        done, _ = await asyncio.wait([asyncio.ensure_future(child.wait()), ended], return_when=asyncio.FIRST_COMPLETED)
        if ended in done:
            child.terminate()
        status = await child.wait()
        print(summary(server.counts), file=sys.stderr)
        return status if status >= 0 else 128 - status
    print("".join(f"{n}={v}\n" for n, v in values.items()), end="", flush=True)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # so that a reader finds the end
    if not sys.stdin.isatty():
        threading.Thread(target=wait_for_end, daemon=True).start()
    return await ended


def wait_for_end():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def main(args=None):
    parser, options = parse(args)
    try:
        night = Night(options.seed, options.rate, select(options.faults))
        if options.rules:
            with open(options.rules, encoding="utf-8") as file:
                night.set_rules(json.load(file))
        server = Server(options, night)
        server.tls = make_tls(options.tls)
        server.addresses = [(a, options.port) for a in options.address.split(",")]
        return asyncio.run(run(server, options))
    except (ValueError, OSError) as error:
        parser.error(str(error))
