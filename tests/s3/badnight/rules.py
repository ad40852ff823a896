"""Which request is spoiled, and how: by rule, or at a rate.

Nothing is drawn from a stream of random numbers: each draw is a hash of the seed and of what the
request is (its kind, key, range, and how often it came before). So the same requests meet the same
faults, in whatever order they come.
"""
import fnmatch
import hashlib
import random

from .faults import FAULTS

FIELDS = {"fault": str, "op": str, "bucket": str, "key": str, "match": str, "address": str, "nth": list, "from": int,
          "until": int, "every": int, "times": int, "rate": (int, float), "args": dict}


def draw(seed, *parts):
    """in [0, 1)"""
    text = "\0".join([str(seed), *map(str, parts)])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()[:7], "big") / (1 << 56)


def fits(fault, exchange, by_rule):
    """whether the fault means anything for this request"""
    if exchange.op not in fault.ops:
        return False
    needs, reply = fault.needs, exchange.reply
    good = reply.status in (200, 206)
    if needs == "reread":
        return good and len(reply.body) > 0 and (by_rule or exchange.reads > 1)
    return {"": True,
            "body": good and len(reply.body) > 0,
            "range": reply.status == 206,
            "whole": good and exchange.object is not None and 0 < len(reply.body) == len(exchange.object.data),
            "empty": reply.status == 416 and exchange.object is not None and not exchange.object.data,
            "reused": exchange.number > 1,
            "page": exchange.page is not None}[needs]


class Rule:
    """{"fault": NAME, and what is asked for}: all fields but "fault" are optional

    op: get, head or list; bucket; key: exactly; match: a pattern of keys; address: of the server.
    Of the requests that fit, counted from 1: nth: those; from, until: the first and the last; every:
    each so many; rate: a share of them; times: no more than so many. args: for the fault.
    """

    def __init__(self, number, spec):
        for name, value in spec.items():
            if name not in FIELDS:
                raise ValueError(f"rule {number}: there is no field \"{name}\"; there are {', '.join(FIELDS)}")
            if not isinstance(value, FIELDS[name]) or isinstance(value, bool):
                raise ValueError(f"rule {number}: \"{name}\" cannot be {value!r}")
        if spec.get("fault") not in FAULTS:
            raise ValueError(f"rule {number}: there is no fault {spec.get('fault')!r}")
        self.number, self.spec, self.fault = number, spec, FAULTS[spec["fault"]]
        if spec.get("op", self.fault.ops[0]) not in self.fault.ops:
            raise ValueError(f"rule {number}: \"{self.fault.name}\" is of {', '.join(self.fault.ops)}")
        self.seen = self.fired = 0

    def asks_for(self, exchange):
        spec = self.spec
        return all(spec.get(field, value) == value for field, value in (
            ("op", exchange.op), ("bucket", exchange.bucket), ("key", exchange.key), ("address", exchange.address))) \
            and fnmatch.fnmatchcase(exchange.key, spec.get("match", "*")) and fits(self.fault, exchange, True)

    def fires(self, exchange, seed):
        if not self.asks_for(exchange):
            return False
        self.seen += 1
        spec, n = self.spec, self.seen
        if not (n in spec.get("nth", [n]) and spec.get("from", 1) <= n <= spec.get("until", n)
                and n % spec.get("every", 1) == 0 and self.fired < spec.get("times", n)):
            return False
        if draw(seed, "rule", self.number, *exchange.identity) >= spec.get("rate", 1):
            return False
        self.fired += 1
        return True


class Night:
    """rules first, then the rate"""

    def __init__(self, seed, rate, faults):
        self.seed, self.rate, self.faults = seed, rate, faults
        self.rules = []

    def set_rules(self, specs):
        if not isinstance(specs, list) or not all(isinstance(s, dict) for s in specs):
            raise ValueError("rules are a list of objects")
        self.rules = [Rule(i, spec) for i, spec in enumerate(specs, 1)]

    def choose(self, exchange):
        """(fault, arguments, number of the rule) or None"""
        for rule in self.rules:
            if rule.fires(exchange, self.seed):
                return rule.fault, rule.spec.get("args", {}), rule.number
        if draw(self.seed, "whether", *exchange.identity) >= self.rate:
            return None
        possible = [f for f in self.faults if fits(f, exchange, False)]
        if not possible:
            return None
        return possible[int(draw(self.seed, "which", *exchange.identity) * len(possible))], {}, 0

    def random(self, exchange):
        return random.Random(draw(self.seed, "how", *exchange.identity))
