"""Connections, the way of a request, the log, and what tests may tell the server."""
import asyncio
import email.utils
import itertools
import json
import socket
import time
import urllib.parse

from . import listing
from .auth import Credentials, Refusal, Verifier
from .exchange import BadRequest, Exchange, parse_head, split_target
from .faults import select
from .reply import Gone, Pace, Reply, Wire
from .store import CHECKSUMS, Store

MAX_HEAD, MAX_BODY, MAX_KEY = 64 << 10, 1 << 30, 1024
CONTROL = "/_badnight/"


def hold(host, port):
    """A socket that has a port and does not listen: connections are refused, and nobody else gets it."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    held = socket.socket(family, kind, protocol)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind(address)
    return held


class Server:
    def __init__(self, options, night):
        self.options, self.night = options, night
        self.store = Store(options.root)
        self.verifier = Verifier([Credentials(options.access_key, options.secret_key, options.session_token or None)],
                                 options.region, options.anonymous)
        self.verifier.skew = options.clock_skew
        self.checksum = options.checksum
        self.requester_pays = set(options.requester_pays)
        self.latency, self.jitter = options.latency, options.jitter
        self.total = Pace(options.bandwidth)
        self.connection_bandwidth = options.connection_bandwidth
        self.regions = {}
        self.deaf = set()  # to If-Match
        self.storm = None
        self.listeners, self.addresses = [], []
        self.held = []  # sockets that keep the ports ours while nobody listens
        self.tls = None
        self.log_file = open(options.log, "a", encoding="utf-8", buffering=1) if options.log else None
        self.log = []
        self.numbers = itertools.count(1)
        self.connections = itertools.count(1)
        self.in_flight = 0
        self.zero()

    def zero(self):
        """counts begin anew, and what faults have changed is as it was"""
        self.seen, self.reads = {}, {}
        self.counts = {"requests": 0, "connections": 0, "bytes": 0, "most_in_flight": self.in_flight,
                       "faults": {}, "ops": {}, "statuses": {}}
        self.log.clear()
        self.regions.clear()
        self.deaf.clear()
        self.storm = None
        self.verifier.skew = self.options.clock_skew
        for rule in self.night.rules:
            rule.seen = rule.fired = 0

    # ---- what exchanges and faults need ----

    def common_headers(self):
        return [("Date", email.utils.formatdate(self.verifier.now(), usegmt=True)), ("Server", "AmazonS3"),
                ("x-amz-request-id", "BADNIGHT"), ("x-amz-id-2", "badnight")]

    def list_page(self, bucket, params):
        return listing.list_page(self.store, bucket, params)

    def check_bucket(self, exchange):
        if not self.store.has_bucket(exchange.bucket):
            raise Refusal(404, "NoSuchBucket", "The specified bucket does not exist", BucketName=exchange.bucket)
        if exchange.bucket in self.requester_pays and exchange.request.get("x-amz-request-payer") != "requester":
            raise Refusal(403, "AccessDenied", "Access Denied: the bucket is one where the requester pays")

    def replace(self, bucket, key):
        old = self.store.get(bucket, key)
        new = self.store.get(bucket, key + ".replaced")
        self.store.put(bucket, key, bytes(new.data) if new else bytes(old.data) + b"\n")

    def start_storm(self, rate, seconds):
        self.storm = Pace(rate), time.monotonic() + seconds

    def throttles(self):
        """whether a storm refuses this request"""
        if not self.storm or time.monotonic() > self.storm[1]:
            self.storm = None
            return False
        if self.storm[0].free_at > time.monotonic():
            return True
        self.storm[0].take(1)
        return False

    def go_away(self, seconds):
        """no connection is accepted for a while"""
        for listener in self.listeners:
            listener.close()
        self.listeners.clear()
        asyncio.get_running_loop().call_later(seconds, lambda: asyncio.ensure_future(self.listen()))

    # ---- connections ----

    async def listen(self):
        if self.listeners:
            return
        for i, (host, port) in enumerate(self.addresses):
            if len(self.held) == i:
                self.held.append(hold(host, port or self.addresses[0][1]))  # the same on all
                self.addresses[i] = host, self.held[i].getsockname()[1]
            self.listeners.append(await asyncio.start_server(self.serve, host, self.addresses[i][1], limit=1 << 20, ssl=self.tls,
                                                             backlog=1024, reuse_port=True))

    async def serve(self, reader, writer):
        wire = Wire(reader, writer, self.total)
        wire.pace = Pace(self.connection_bandwidth)
        connection = next(self.connections)
        self.counts["connections"] += 1
        try:
            for number in itertools.count(1):
                head = await reader.readuntil(b"\r\n\r\n")
                if not await self.serve_one(wire, head, connection, number):
                    break
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, Gone, TimeoutError,
                asyncio.CancelledError):  # the last when the server ends
            pass
        finally:
            writer.close()

    async def read_body(self, wire, request):
        length = int(request.get("content-length") or 0)
        if length > MAX_BODY or request.get("transfer-encoding") or "aws-chunked" in (request.get("content-encoding") or ""):
            raise BadRequest("a body must have a Content-Length, and be sent as it is")
        if (request.get("expect") or "").lower() == "100-continue":
            await wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return await wire.reader.readexactly(length)

    async def serve_one(self, wire, head, connection, number):
        """whether the connection goes on"""
        try:
            if len(head) > MAX_HEAD:
                raise BadRequest("the head is too long")
            request, old = parse_head(head)
            request.body = await self.read_body(wire, request)
        except (BadRequest, ValueError) as error:
            await wire.write(Reply(400, [("Connection", "close")], str(error).encode(), close=True).head())
            return False
        if request.path.startswith(CONTROL):
            await self.settle()
            reply = self.control(request)
            reply.head_only = request.method == "HEAD"
            await wire.send(reply)
            return True
        self.in_flight += 1
        self.counts["most_in_flight"] = max(self.counts["most_in_flight"], self.in_flight)
        try:
            ended = await self.answer(wire, request, connection, number)
        finally:
            self.in_flight -= 1
        return ended == "complete" and not old and (request.get("connection") or "").lower() != "close"

    async def answer(self, wire, request, connection, number):
        began, before = time.time(), wire.sent
        bucket, key = split_target(request, self.options.domain)
        address = wire.writer.get_extra_info("sockname")[0]
        exchange = Exchange(self, request, bucket, key, address, number)
        line = {"time": round(began, 6), "n": next(self.numbers), "connection": connection, "on_connection": number,
                "address": address, "method": request.method,
                "path": request.path, "query": request.query, "op": exchange.op, "bucket": bucket, "key": key,
                "range": request.get("range"), "if_match": request.get("if-match")}
        chosen = self.prepare(exchange)
        line.update(fault=chosen and chosen[0].name, rule=chosen and chosen[2] or None)
        exchange.reply.delay += self.latency + (exchange.rng.expovariate(1 / self.jitter) if self.jitter else 0)
        ended = "client gone"
        self.count("ops", exchange.op)
        self.count("statuses", str(exchange.reply.status))
        self.count("faults", line["fault"])
        self.counts["requests"] += 1
        try:
            ended = await wire.send(exchange.reply)
            return ended
        finally:
            self.counts["bytes"] += wire.sent - before
            line.update(status=exchange.reply.status, bytes=wire.sent - before, ended=ended,
                        seconds=round(time.time() - began, 6))
            self.log.append(line)
            if self.log_file:
                self.log_file.write(json.dumps(line) + "\n")

    def count(self, kind, name):
        if name:
            self.counts[kind][name] = self.counts[kind].get(name, 0) + 1

    def prepare(self, exchange):
        """the answer, spoiled if need be; (fault, arguments, rule) or None"""
        request = exchange.request
        what = exchange.op, exchange.bucket, exchange.key, request.get("range") or request.query
        self.seen[what] = self.seen.get(what, 0) + 1
        place = exchange.bucket, exchange.key
        self.reads[place] = exchange.reads = self.reads.get(place, 0) + 1
        exchange.identity = *what, self.seen[what]
        exchange.rng = self.night.random(exchange)
        try:
            self.verifier.check(request, self.regions.get(exchange.bucket))
            if len(exchange.key.encode("utf-8", "surrogateescape")) > MAX_KEY:
                raise Refusal(400, "KeyTooLongError", "Your key is too long", MaxSizeAllowed=str(MAX_KEY))
        except Refusal as refusal:
            exchange.reply = exchange.refuse(refusal)
            return None
        if exchange.op not in ("get", "head", "list") or not exchange.bucket or request.query == "location":
            exchange.reply = self.manage(exchange)
            return None
        exchange.reply = exchange.answer()
        if self.throttles():
            exchange.error(503, "SlowDown", "Please reduce your request rate.")
            return None
        chosen = self.night.choose(exchange)
        if chosen:
            exchange.args = chosen[1]
            chosen[0].apply(exchange)
        return chosen

    def manage(self, exchange):
        """buckets, and objects that are put and removed: never spoiled"""
        exchange.plain(200, "application/xml", b"")
        bucket, key, op = exchange.bucket, exchange.key, exchange.op
        if not bucket:
            names = "".join(f"<Bucket><Name>{b}</Name></Bucket>" for b in self.store.buckets())
            exchange.reply.body = (f'{listing.HEADER}<ListAllMyBucketsResult xmlns="{listing.NAMESPACE}"><Buckets>{names}'
                                   "</Buckets></ListAllMyBucketsResult>").encode()
        elif exchange.request.query == "location":
            region = self.regions.get(bucket, self.verifier.region)
            exchange.reply.body = f"{listing.HEADER}<LocationConstraint>{region}</LocationConstraint>".encode()
        elif op == "put" and not key:
            self.store.made.add(bucket)
        elif not self.store.has_bucket(bucket):
            exchange.error(404, "NoSuchBucket", "The specified bucket does not exist", BucketName=bucket)
        elif op == "put":
            exchange.reply.set("ETag", self.store.put(bucket, key, exchange.request.body).etag)
        elif op == "delete" and key:
            self.store.remove(bucket, key)
            exchange.plain(204, None, b"")
        else:
            exchange.error(501, "NotImplemented", f"{op.upper()} is not known here")
        return exchange.reply

    # ---- what tests tell us ----

    async def settle(self):
        """an answer that was read may not be in the log yet"""
        end = time.monotonic() + 1
        while self.in_flight and time.monotonic() < end:
            await asyncio.sleep(0.002)

    def control(self, request):
        word, _, rest = request.path[len(CONTROL):].partition("/")
        try:
            answer = getattr(self, f"control_{request.method.lower()}_{word}", None)
            if not answer:
                return Reply(404, [], f"no {request.method} {word}\n".encode())
            result = answer(rest, request)
            return Reply(200, [("Content-Type", "application/json")], json.dumps(result).encode() + b"\n")
        except (ValueError, TypeError, KeyError) as error:
            return Reply(400, [("Content-Type", "text/plain")], f"{error}\n".encode())

    def control_get_counts(self, *_):
        return {**self.counts, "rules": [[rule.seen, rule.fired] for rule in self.night.rules]}

    def control_get_log(self, *_):
        return self.log

    def control_post_reset(self, *_):
        self.zero()

    def control_put_rules(self, _, request):
        self.night.set_rules(json.loads(request.body))

    def control_put_night(self, _, request):
        spec = json.loads(request.body)
        faults = select(spec["faults"])
        self.night.seed, self.night.rate, self.night.faults = spec["seed"], float(spec["rate"]), faults

    def control_put_settings(self, _, request):
        for name, value in json.loads(request.body).items():
            if name in ("latency", "jitter"):
                setattr(self, name, float(value))
            elif name == "bandwidth":
                self.total.rate = float(value)
            elif name == "connection-bandwidth":
                self.connection_bandwidth = float(value)
            elif name == "checksum" and value in CHECKSUMS:
                self.checksum = value
            elif name == "requester-pays":
                self.requester_pays = set(value)
            elif name == "regions":
                self.regions = dict(value)
            elif name == "clock-skew":
                self.verifier.skew = float(value)
            elif name == "anonymous":
                self.verifier.anonymous = bool(value)
            elif name == "credentials":
                self.verifier.credentials = [Credentials(**c) for c in value]
            else:
                raise ValueError(f"no setting \"{name}\" of {value!r}")

    def control_put_objects(self, rest, request):
        bucket, _, key = urllib.parse.unquote(rest, errors="surrogateescape").partition("/")
        return self.store.put(bucket, key, request.body, request.get("x-etag")).etag

    def control_delete_objects(self, rest, _):
        if not rest:
            self.store.forget()
            return
        bucket, _, key = urllib.parse.unquote(rest, errors="surrogateescape").partition("/")
        self.store.remove(bucket, key)
