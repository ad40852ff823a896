#!/usr/bin/env python3
"""usage: check-tokens.py IDS-DUMP VOCAB [TEXTS [SEED]]: random texts over all scripts, ours beside
Hugging Face's tokenizers. Prints one TAP line for each kind of text; a failure tells the smallest
text that shows it."""
import os
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import Tokenizer

FOLDED = ["'s", "'S", "'t", "'re", "'RE", "'Ve", "'m", "'ll", "'lL", "'d", "'\u017f", "'x", "'", "''"]
SPACES = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\x0b", "\x1c", "\u180e", "\x85", " \n ", "   "]


def all_chars():
    return [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]


def assigned():
    return [c for c in all_chars() if unicodedata.category(c) not in ("Cn", "Co")]


def marks():
    return [c for c in all_chars() if unicodedata.combining(c)]


def makers(rng, added):
    everything, known, combining = all_chars(), assigned(), marks()
    blocks = [[c for c in known if ord(c) // 256 == block] for block in range(0x300)]
    blocks = [block for block in blocks if block]
    changed = [c for c in known if unicodedata.normalize("NFD", c) != c]
    ascii_chars = [chr(c) for c in range(1, 128)]
    spaces = [c for c in everything if c.isspace() or unicodedata.category(c)[0] == "Z"]
    controls = [c for c in everything if unicodedata.category(c) in ("Cc", "Cf", "Co")][:400]
    emoji = [chr(c) for first, last in ((0x1F1E6, 0x1F1FF), (0x1F300, 0x1FAFF), (0x2600, 0x27BF)) for c in range(first, last + 1)]
    joiners = ["\u200d", "\ufe0f", "\ufe0e", "\u20e3", *[chr(c) for c in range(0x1F3FB, 0x1F400)], "\U000e0067", "\U000e007f"]

    def pick(pools, least, most):
        return "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(least, most)))

    def script():
        block = rng.choice(blocks)
        return pick([block, block, SPACES, ascii_chars, FOLDED], 1, 60)

    return {
        "any code point": lambda: pick([everything], 1, 40),
        "one script, spaces, ASCII": script,
        "ASCII and spaces": lambda: pick([ascii_chars, SPACES, FOLDED], 1, 60),
        "letters and marks": lambda: pick([combining, combining, changed, ["a", "e", "\n", " "]], 1, 30),
        "marks of every age": lambda: rng.choice(known) + "".join(rng.choices(combining, k=rng.randint(1, 5))),
        "long runs of marks": lambda: "e" + "".join(rng.choices(combining, k=rng.randint(10, 200))),
        "Hangul in parts": lambda: "".join(chr(rng.choice([rng.randint(0x1100, 0x1112), rng.randint(0x1161, 0x1175),
                                                          rng.randint(0x11A7, 0x11C2), rng.randint(0xAC00, 0xD7A3)]))
                                           for _ in range(rng.randint(1, 20))),
        "added tokens, whole and cut": lambda: pick([added, [t[:-1] for t in added], [t[1:] for t in added],
                                                     ["a", " ", "\u0301", "<", "|", ">"]], 1, 20),
        "digits": lambda: pick([list("0123456789"), ["\u0661", "\u2160", "\u00bd", "\U0001d7d8"], [" ", ".", "a"]], 1, 30),
        "white space of every kind": lambda: pick([spaces, spaces, SPACES, ["a", "1", "!", "\u4e00"]], 1, 30),
        "controls and format characters": lambda: pick([controls, controls, ["a", " ", "\n", "1", "'s"]], 1, 30),
        "emoji, joined and coloured": lambda: pick([emoji, emoji, joiners, ["a", " ", "1", "\n"]], 1, 30),
        "long": lambda: rng.choice(known) * rng.randint(200, 3000),
    }


def ours(dump, vocab, texts):
    with tempfile.NamedTemporaryFile() as file:
        for text in texts:
            data = text.encode()
            file.write(struct.pack("<I", len(data)) + data)
        file.flush()
        out = subprocess.run([dump, vocab, file.name], check=True, capture_output=True, text=True).stdout
    return [[int(i) for i in line.split()] for line in out.split("\n")[:-1]]


def every_block():
    """each 64 code points, assigned or not, in a row and with spaces between"""
    for first in range(0, 0x110000, 64):
        chars = [chr(c) for c in range(first, first + 64) if c and not 0xD800 <= c < 0xE000]
        if chars:
            yield "".join(chars)
            yield " ".join(chars)


def shrink(text, differ):
    """the smallest text that fails as well; differ: which of many texts do"""
    while True:
        n = len(text)
        cuts = {text[:n // 2], text[n // 2:], text[n // 4:], text[:-n // 4]}
        cuts |= {text[:i] + text[i + 1:] for i in range(min(n, 300))}
        candidates = sorted(cut for cut in cuts if cut and cut != text)
        failing = differ(candidates) if candidates else []
        if not failing:
            return text
        text = min(failing, key=len)


def main():
    dump, vocab = sys.argv[1:3]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 32)
    rng = random.Random(seed)
    tokenizer = Tokenizer.from_file(vocab)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    kinds = {**makers(rng, added), "every block": None}
    print(f"1..{len(kinds)}\n# seed {seed}")
    failed = False

    def differing(texts):
        """{text: (ours, theirs)}"""
        theirs = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
        rows = zip(texts, ours(dump, vocab, texts), theirs)
        return {text: (mine, other) for text, mine, other in rows if mine != other}

    for number, (kind, make) in enumerate(kinds.items(), 1):
        texts = list(every_block()) if make is None else [make() for _ in range(n)]
        wrong = differing(texts)
        if wrong:
            least = shrink(min(wrong, key=len), differing)
            mine, theirs = differing([least])[least]
            print(f"# the smallest text: {ascii(least)}\n#   ours   {mine}\n#   theirs {theirs}")
        print(f"{'not ok' if wrong else 'ok'} {number} - {kind}: {len(texts) - len(wrong)} of {len(texts)} texts")
        failed |= bool(wrong)
    return failed


sys.exit(main())
