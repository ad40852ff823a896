"""An answer, with all that can be wrong with it, and how it is put on the wire."""
import asyncio
import dataclasses
import http
import socket
import struct
import time

PIECE = 64 << 10
BEFORE_HEAD = -1


class Gone(Exception):
    """the client is not there any more"""


@dataclasses.dataclass
class Reply:
    status: int
    headers: list
    body: bytes = b""
    reason: str | None = None
    version: str = "HTTP/1.1"
    framing: str = "length"  # or chunked, close (the end of the connection is that of the body), none
    length: object = None  # the Content-Length that is claimed, if it is not the body's
    head_only: bool = False
    before: bytes = b""  # in front of the head
    raw: bytes | None = None  # instead of everything
    delay: float = 0
    head_step: tuple | None = None  # (bytes, seconds)
    body_step: tuple | None = None
    stall_at: int | None = None  # bytes of the body, or BEFORE_HEAD
    stall: float = 60
    cut_at: int | None = None
    cut: str = "close"  # or reset
    close: bool = False  # after the answer
    endless: bytes = b""  # what comes again and again after the head's beginning, until the client goes

    def set(self, name, value):
        """in place of the header of that name; None: without it"""
        self.headers = [(n, v) for n, v in self.headers if n.lower() != name.lower()]
        if value is not None:
            self.headers.append((name, value))

    def get(self, name):
        return next((v for n, v in self.headers if n.lower() == name.lower()), None)

    def reason_text(self):
        if self.reason is not None:
            return self.reason
        try:
            return http.HTTPStatus(self.status).phrase
        except ValueError:
            return "Unknown"

    def head(self):
        lines = [f"{self.version} {self.status} {self.reason_text()}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        elif self.framing == "length" and self.status not in (204, 304):
            lines.append(f"Content-Length: {len(self.body) if self.length is None else self.length}")
        if self.framing == "close" or self.close and self.version == "HTTP/1.0":
            lines.append("Connection: close")
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"

    def wire_body(self):
        if self.head_only or self.status in (204, 304):
            return b""
        if self.framing != "chunked":
            return self.body
        parts = []
        for at in range(0, len(self.body), PIECE):
            piece = self.body[at:at + PIECE]
            parts += [b"%x\r\n" % len(piece), piece, b"\r\n"]
        return b"".join([*parts, b"0\r\n\r\n"])


class Pace:
    """so many bytes a second, whoever sends them; 0: any"""

    def __init__(self, rate=0):
        self.rate, self.free_at = rate, 0.0

    def take(self, size):
        """seconds to wait after sending @size"""
        if not self.rate:
            return 0.0
        now = time.monotonic()
        self.free_at = max(self.free_at, now) + size / self.rate
        return self.free_at - now


class Wire:
    """one connection's way out"""

    def __init__(self, reader, writer, total):
        self.reader, self.writer, self.total = reader, writer, total
        self.pace = Pace()
        self.sent = 0

    def is_gone(self):
        return self.reader.at_eof() or self.writer.transport.is_closing()

    async def sleep(self, seconds):
        """ends early if the client goes"""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self.is_gone():
                raise Gone
            await asyncio.sleep(min(left, 0.02))

    async def write(self, data):
        shaped = self.pace.rate or self.total.rate
        step = max(1, min(PIECE, int(shaped / 20))) if shaped else PIECE * 4
        for at in range(0, len(data), step):
            piece = data[at:at + step]
            self.writer.write(piece)
            await self.writer.drain()
            self.sent += len(piece)
            wait = max(self.pace.take(len(piece)), self.total.take(len(piece)))
            if wait > 0:
                await self.sleep(wait)

    async def write_slowly(self, data, step):
        if not step:
            await self.write(data)
            return
        size, seconds = step
        for at in range(0, len(data), size):
            await self.write(data[at:at + size])
            await self.sleep(seconds)

    def end(self, how):
        if how == "reset":
            sock = self.writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.writer.transport.abort()
        else:
            self.writer.close()

    async def send(self, reply):
        """gives how it ended: complete, close, or reset"""
        await self.sleep(reply.delay)
        if reply.stall_at == BEFORE_HEAD:
            await self.sleep(reply.stall)
            reply.cut_at = BEFORE_HEAD
        if reply.cut_at == BEFORE_HEAD:
            self.end(reply.cut)
            return reply.cut
        if reply.raw is not None:
            await self.write(reply.raw)
        else:
            head = reply.before + reply.head()
            body = reply.wire_body()
            if reply.endless:
                await self.write(head[:-2])
                while True:
                    await self.write(reply.endless)
                    await self.sleep(0.001)
            if reply.head_step is None and reply.body_step is None and len(body) < PIECE and reply.stall_at is None \
                    and reply.cut_at is None:
                await self.write(head + bytes(body))
            else:
                await self.write_slowly(head, reply.head_step)
                if await self.send_body(reply, body):
                    return reply.cut
        if reply.close or reply.framing == "close":
            self.end("close")
            return "close"
        return "complete"

    async def send_body(self, reply, body):
        """whether it was cut"""
        end = len(body) if reply.cut_at is None else min(reply.cut_at, len(body))
        at = 0
        if reply.stall_at is not None:
            at = min(reply.stall_at, end)
            await self.write_slowly(body[:at], reply.body_step)
            await self.sleep(reply.stall)
            self.end(reply.cut)
            return True
        await self.write_slowly(body[at:end], reply.body_step)
        if reply.cut_at is None:
            return False
        if reply.cut == "reset":
            # a reset throws away what was not read yet: give the client the time to do so
            await self.sleep(0.03)
        self.end(reply.cut)
        return True
