"""The order of a mix, written from docs/order.md alone, place by place."""
from fractions import Fraction
from math import floor

from reference import key, order as order_of_lines, permute

WINDOW = 4096


def shares(members, lengths, weights="ratio", temperature=1.0):
    """How many samples of each member a period has."""
    values = [m.get("weight", 1) * {"ratio": 1, "epochs": n, "temperature": n ** (1 / temperature)}[weights]
              for m, n in zip(members, lengths)]
    scale = 1 if weights == "epochs" else 65536 / sum(values)
    if weights == "ratio":
        exact = [Fraction(str(v)) for v in values]
        for decimals in range(6, -1, -1):
            if all(v * 10**decimals == int(v * 10**decimals) for v in exact):
                scale = 10**decimals
    return [max(floor(v * scale + 0.5), 1) for v in values]


def turn(alive, share, u):
    """Who of those that are left has place u of the period."""
    u %= sum(share[j] for j in alive)
    while len(alive) > 1:
        first, n = alive[:len(alive) // 2], sum(share[j] for j in alive)
        part = sum(share[j] for j in first)
        before, behind = (u * part + n // 2) // n, ((u + 1) * part + n // 2) // n
        alive, u = (first, before) if behind > before else (alive[len(alive) // 2:], u - before)
    return alive[0]


def pattern(members, lengths, weights="ratio", temperature=1.0, end="longest"):
    """One epoch of it: the member at each place."""
    share, given, alive, places, u = shares(members, lengths, weights, temperature), [0] * len(members), list(range(len(members))), [], 0
    while True:
        j = turn(alive, share, u)
        places.append(j)
        given[j], u = given[j] + 1, u + 1
        whole = [g >= n for g, n in zip(given, lengths)]
        if len(places) == sum(share) if weights == "epochs" else (all if end == "longest" else any)(whole):
            return places
        if weights != "epochs" and whole[j] and not members[j].get("repeat", True):
            alive, u = [k for k in alive if k != j], 0


def order(members, epoch, seed=0, pattern_of="even", shuffle=None, **rules):
    """members: {"objects", "weight", "repeat", and the rules of its own order}. The lines of an epoch: (key, byte)."""
    own = []
    for j, m in enumerate(members):
        how = {k: v for k, v in m.items() if k not in ("objects", "weight", "repeat")}
        how.setdefault("seed", key(seed, 0, 4, j) >> 1)
        if shuffle is not None:
            how.setdefault("shuffle", shuffle)
        own.append(lambda turn, m=m, how=how: order_of_lines(m["objects"], turn, **how))
    lengths = [len(o(0)) for o in own]
    even = pattern(members, lengths, **rules)
    count, nth = [0] * len(members), []
    for j in even:
        nth.append(count[j])
        count[j] += 1
    result, passes = [], {}
    for p in range(len(even)):
        q, first = p, p - p % WINDOW
        if pattern_of == "random":
            q = first + permute(key(seed, epoch, 5, first // WINDOW), min(WINDOW, len(even) - first), p - first)
        j = even[q]
        which, index = divmod(epoch * count[j] + nth[q], lengths[j]) if members[j].get("repeat", True) else (epoch, nth[q])
        if (j, which) not in passes:
            passes[j, which] = own[j](which)
        result.append(passes[j, which][index])
    return result
