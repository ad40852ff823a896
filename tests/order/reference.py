"""The order of samples, written from docs/order.md alone: an independent one that the product's is compared with."""
M = (1 << 64) - 1


def mix64(x):
    x = (x + 0x9E3779B97F4A7C15) & M
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & M
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & M
    return x ^ x >> 31


def key(seed, epoch, purpose, index):
    return mix64(mix64(mix64(mix64(seed) ^ epoch) ^ purpose) ^ index)


def permute(k, n, i):
    half = (max((n - 1).bit_length(), 1) + 1) // 2
    mask = (1 << half) - 1
    while True:
        left, right = i >> half, i & mask
        for r in range(8):
            left, right = right, left ^ (mix64(mix64((k + r) & M) ^ right) & mask)
        i = left << half | right
        if i < n:
            return i


def lines(data):
    """Where the samples of an object begin."""
    starts, at = [], 0
    for line in data.split(b"\n"):
        if line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r"):
            starts.append(at)
        at += len(line) + 1
    return starts


def groups(objects, epoch, shuffle="none", seed=0, block_bytes=1 << 20, window_blocks=16):
    """objects: {key: bytes}. The lines of an epoch, (key, byte), in order, in the parts that are read as a whole."""
    keys = sorted(objects, key=lambda k: k.encode())
    starts = {k: lines(objects[k]) for k in keys}
    if shuffle == "full":
        all_lines = [(k, b) for k in keys for b in starts[k]]
        n = len(all_lines)
        return [[all_lines[permute(key(seed, epoch, 3, 0), n, p)]] for p in range(n)]
    blocks = [[(k, b) for b in starts[k] if b // block_bytes == i]
              for k in keys for i in range(-(-len(objects[k]) // block_bytes))]
    if shuffle == "none":
        return blocks
    read = [blocks[permute(key(seed, epoch, 1, 0), len(blocks), i)] for i in range(len(blocks))]
    result = []
    for g, first in enumerate(range(0, len(read), window_blocks)):
        group = sum(read[first:first + window_blocks], [])
        result.append([group[permute(key(seed, epoch, 2, g), len(group), q)] for q in range(len(group))])
    return result


def order(objects, epoch, **rules):
    """The lines of an epoch, in order."""
    return [line for group in groups(objects, epoch, **rules) for line in group]


def steps(objects, size, world=1, epochs=1, limit=0, steps=0, drop_last=False, order_of=order, **rules):
    """All steps of a run: (epoch, place of the first, slots of all ranks); what a step is filled up with is None."""
    g, n_places, taken, epoch = size * world, 0, 0, 0
    while not (epochs and epoch == epochs) and not (limit and n_places >= limit):
        places = order_of(objects, epoch, **rules)
        n_lines = len(places)
        if limit:
            places = places[:limit - n_places]
        for k in range(len(places) // g if drop_last else -(-len(places) // g)):
            if steps and taken == steps:
                return
            slots = places[k * g:(k + 1) * g]
            yield epoch, k * g, slots + [None] * (g - len(slots))
            taken += 1
        if n_lines < (g if drop_last else 1):
            return  # no epoch has a step
        n_places += n_lines
        epoch += 1


def deal(costs, world, size):
    """balance=pixels: which of a step's samples each rank gets."""
    ranks, loads = [[] for _ in range(world)], [0] * world
    for i in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        rank = min((r for r in range(world) if len(ranks[r]) < size), key=lambda r: loads[r])
        ranks[rank].append(i)
        loads[rank] += costs[i]
    return [sorted(rank) for rank in ranks]


def pack(sizes, max_tokens, max_images=0):
    """The row of each sample of a block; sizes: (tokens, tokens of images)."""
    left, row = [], {}
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i][0], i)):
        fits = [r for r, (t, m) in enumerate(left) if t >= sizes[i][0] and (not max_images or m >= sizes[i][1])]
        r = min(fits, key=lambda r: left[r][0]) if fits else len(left)
        left[r:r + 1] = [(a - b for a, b in zip(left[r] if fits else (max_tokens, max_images), sizes[i]))]
        left[r] = tuple(left[r])
        row[i] = r
    names = {}
    return [names.setdefault(row[i], len(names)) for i in range(len(sizes))]


def rows(places, sizes, window, max_tokens, max_images=0):
    """Packed rows of an epoch, its places as order() gives them: of each row the numbers of its places. sizes: (tokens,
    tokens of images) of a line, None: it makes no sample. Those that make none, or are in no row, are left out."""
    result = []
    for first in range(0, len(places), window):
        good = [(p, sizes[places[p]]) for p in range(first, min(first + window, len(places))) if sizes[places[p]]]
        good = [(p, s) for p, s in good if s[0] <= max_tokens and (not max_images or s[1] <= max_images)]
        of = pack([s for _, s in good], max_tokens, max_images)
        result += [[p for (p, _), r in zip(good, of) if r == row] for row in range(max(of, default=-1) + 1)]
    return result
