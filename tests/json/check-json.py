#!/usr/bin/env python3
"""check-json.py JSON-DUMP [N [SEED]]: N random lines, good and damaged, as Python and as we see them.

Python's json module is strict enough to be the judge once its three liberties are taken away: NaN and
Infinity, half surrogate pairs, and any recursion depth.
"""
import json, math, random, subprocess, sys

DEPTH = 64


def random_text(rng):
    pools = ["abc xyz", "\"\\/\b\f\n\r\t", "\x00\x01\x1f\x7f", "\x85\xa0éß", "€\u2028\ufeff\uffff中文",
             "😀\U0010ffff\U00010000", "<image>", "0123456789-+.eE"]
    n = rng.choice([0, 1, 2, 5, 9, 31, 32, 33, 70])
    return "".join(rng.choice(rng.choice(pools)) for _ in range(n))


def random_number(rng):
    return rng.choice([
        lambda: str(rng.randint(-10, 10)),
        lambda: str(rng.randint(-2**70, 2**70)),
        lambda: str(rng.choice([2**63 - 1, 2**63, -2**63, -2**63 - 1, 2**64])),
        lambda: repr(rng.uniform(-1e6, 1e6)),
        lambda: f"{rng.randint(-9, 9)}.{rng.randint(0, 10**20)}e{rng.randint(-330, 330)}",
        lambda: rng.choice(["-0", "0.0", "-0.0", "1E5", "1e+05", "1e999", "-1e999", "5e-324"]),
    ])()


def random_space(rng):
    return "".join(rng.choice(" \t\r") for _ in range(rng.choice([0, 0, 0, 1, 3])))


def write_text(rng, text):
    """a string with some of its characters escaped that need not be"""
    out = []
    for c in text:
        if c in "\"\\" or ord(c) < 0x20 or rng.random() < 0.1:
            plain = json.dumps(c)[1:-1]
            if rng.random() < 0.3:
                units = c.encode("utf-16-be")
                plain = "".join("\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2))
                if rng.random() < 0.5:
                    plain = plain[:2] + plain[2:].upper().replace("\\U", "\\u")
            elif c == "/":
                plain = "\\/"
            out.append(plain)
        else:
            out.append(c)
    return '"' + "".join(out) + '"'


def write_value(rng, depth):
    kind = rng.randrange(9 if depth < 5 else 6)
    s = lambda: random_space(rng)
    if kind == 0:
        return rng.choice(["null", "true", "false"])
    if kind in (1, 2):
        return random_number(rng)
    if kind < 6:
        return write_text(rng, random_text(rng))
    n = rng.choice([0, 1, 2, 3, 5])
    if kind == 6:
        return "[" + s() + ("," + s()).join(write_value(rng, depth + 1) + s() for _ in range(n)) + "]"
    return "{" + s() + ("," + s()).join(
        write_text(rng, random_text(rng)) + s() + ":" + s() + write_value(rng, depth + 1) + s()
        for _ in range(n)) + "}"


def damage(rng, line):
    line = bytearray(line)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(line) + 1)
        what = rng.randrange(5)
        if what == 0 and at < len(line):
            line[at] ^= 1 << rng.randrange(8)
        elif what == 1 and at < len(line):
            del line[at]
        elif what == 2:
            line[at:at] = rng.choice([b",", b":", b"]", b"}", b'"', b"\\", b"\\u", b"\\ud800", b"\\u0000",
                                      b"0", b"-", b".", b"e", b"\xff", b"\xe2\x82", b"\xed\xa0\x80", b"\xc0\x80",
                                      b"\t", b"\0", b"\x0b", b"\xef\xbb\xbf", b"NaN", b"//", b"'"])
        elif what == 3:
            line = line[:at]
        elif line:
            line[at:at] = line[:at][-rng.randrange(1, 9):]
    return bytes(line).replace(b"\n", b" ")


def has_surrogate(text):
    return any(0xD800 <= ord(c) < 0xE000 for c in text)


def walk(value, depth=0):
    yield value, depth
    if isinstance(value, list):
        for v in value:
            yield from walk(v, depth + 1)
    elif isinstance(value, tuple):
        for k, v in value[0]:
            yield k, depth
            yield from walk(v, depth + 1)


class Number(str):
    pass


def python_sees(line):
    """(kind,) of an error, or ("good", value); numbers are kept as written, objects as (pairs,)"""
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError:
        return ("bad",)
    if text.startswith("\ufeff"):
        text = text[1:]

    def refuse(name):
        raise ValueError(name)
    try:
        value = json.loads(text, parse_constant=refuse, parse_int=Number, parse_float=Number,
                           object_pairs_hook=lambda pairs: (pairs,))
    except (ValueError, RecursionError):
        return ("bad",)
    for v, depth in walk(value):
        if isinstance(v, (list, tuple)) and depth >= DEPTH:
            return ("bad",)
        if isinstance(v, str) and has_surrogate(v):
            return ("bad-encoding",)
    return ("good", value)


def expected(value):
    """what our tree must hold: the last of repeated names, numbers as strings where nothing else holds them"""
    if isinstance(value, Number):
        if not any(c in value for c in ".eE"):
            return int(value) if -2**63 <= int(value) < 2**63 else str(value)
        return float(value) if math.isfinite(float(value)) else str(value)
    if isinstance(value, list):
        return [expected(v) for v in value]
    if isinstance(value, tuple):
        return {k: expected(v) for k, v in value[0]}
    return value


def same(a, b):
    if type(a) is not type(b):
        # json-glib reads -0 as 0, and some whole numbers as integers
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool) and \
            not isinstance(b, bool) and float(a) == float(b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return a == b


def agrees(answer, value):
    try:
        return same(json.loads(answer), expected(value))
    except ValueError:
        return False


def main():
    dump = sys.argv[1]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 20000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    rng = random.Random(seed)
    lines = []
    for i in range(n):
        line = write_value(rng, 0)
        if i % 50 == 0:
            depth = rng.choice([DEPTH - 6, DEPTH, DEPTH + 1])
            line = "[" * depth + line + "]" * depth
        line = (random_space(rng) + line + random_space(rng)).encode("utf-8")
        if i % 20 == 0:
            line = b"\xef\xbb\xbf" + line
        lines.append(line if i % 2 else damage(rng, line))
    out = subprocess.run([dump], input=b"\n".join(lines) + b"\n", stdout=subprocess.PIPE, check=True).stdout
    answers = out.decode("utf-8").split("\n")
    assert len(answers) == 2 * n + 1, (len(answers), n)
    counts = {}
    for i, line in enumerate(lines):
        ours, glib = answers[2 * i], answers[2 * i + 1]
        judge = python_sees(line)
        where = f"seed {seed}, line {i}: {line!r}\n  ours: {ours}\n  json-glib: {glib}\n  Python: {judge}"
        kind = ours if ours in ("bad-json", "bad-encoding", "nul") else "good"
        counts[kind] = counts.get(kind, 0) + 1
        if judge[0] != "good":
            # which of two faults in a line is told is a matter of order
            assert kind.startswith("bad-"), where
            try:
                line.decode("utf-8")
                valid = True
            except UnicodeDecodeError:
                valid = False
            if judge[0] == "bad" and valid and b"\\ud" not in line.lower():
                assert kind == "bad-json", where
            if judge[0] == "bad-encoding":
                assert kind == "bad-encoding", where
            continue
        value = judge[1]
        if any(isinstance(v, str) and "\0" in v for v, _ in walk(value)):
            assert kind == "nul", where
            continue
        assert kind == "good", where
        assert agrees(ours, value), where
        assert glib == "-" or agrees(glib, value), where
        counts["json-glib agrees"] = counts.get("json-glib agrees", 0) + (glib != "-")
    print(f"{n} lines, seed {seed}: {counts}")
    assert all(counts.get(k, 0) > n // 100 for k in ("good", "bad-json", "bad-encoding", "nul", "json-glib agrees"))


main()
