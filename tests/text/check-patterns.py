#!/usr/bin/env python3
"""usage: check-patterns.py PIECES-DUMP VOCAB [TEXTS [SEED]]: the patterns of well-known models on
random texts, ours beside Oniguruma in Hugging Face's tokenizers: one TAP line a pattern. The texts
hold what Unicode 15 and 16 added, which older libraries do not know."""
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import Regex, pre_tokenizers

TAIL = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
FOLDED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + FOLDED + "?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + FOLDED + "?")
PATTERNS = {
    "Qwen2 to Qwen3-VL": FOLDED + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL,
    "Llama 3, GPT-4": FOLDED + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + TAIL,
    "Qwen3.5, Qwen3.6": FOLDED + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + TAIL,
    "the same through PCRE2": "(?:" + FOLDED + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
                              + TAIL + ")",
    "GPT-2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "GPT-4 as tiktoken has it": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|(?>\p{N}{1,3})| ?[^\s\p{L}\p{N}]++[\r\n]*+"
                                r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    "GPT-4o": CASED + r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL,
    "Mistral Tekken": CASED.replace(FOLDED + "?", "") + r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*" + TAIL,
    "DeepSeek-V3": r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                   r"| ?[\p{P}\p{S}]+[\r\n]*" + TAIL,
    "digits of DeepSeek-V3": r"\p{N}{1,3}",
    "Chinese and Japanese of DeepSeek-V3": "[一-龥぀-ゟ゠-ヿ]+",
    "Han": r"[\p{Han}]+",
    "empty matches": r"[0-9]*|x?",
    "signs of the syntax": r"^\S|\v|.$|[^\d\s]|\P{L}\p{^N}|\u0041|\x{42}{2,}",
}
EXTRA = [" ", "  ", "\n", "\r\n", "\t", "\u00a0", "\u2028", "\u3000", "\x0b", "\x1c", "\u180e", "\x85", "'s", "'S",
         "'\u017f", "'ll", "'", "a", "Z", "1", "12345", "!", "/", "\\", "A", "BB"]


def groups():
    """characters by what Python's older Unicode knows: new ones, letters, marks, …"""
    found = {}
    for code in range(1, 0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        category = unicodedata.category(chr(code))
        if category in ("Co", "Cn") and not 0x10C80 <= code < 0x1FC00 and not 0x1C80 <= code < 0x1C90 \
                and not 0x2EBF0 <= code < 0x32400:
            continue
        found.setdefault(category, []).append(chr(code))
    return list(found.values())


def ours(dump, tests):
    with tempfile.NamedTemporaryFile() as file:
        for pattern, texts in tests:
            for text in [pattern, *texts, ""]:
                data = text.encode()
                file.write(struct.pack("<I", len(data)) + data)
        file.flush()
        run = subprocess.run([dump, file.name], stdout=subprocess.PIPE, text=True, check=True)
    return [[int(i) for i in line.split()] for line in run.stdout.splitlines()]


def theirs(pattern, texts):
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    return [[len(piece.encode()) for piece, _ in split.pre_tokenize_str(text)] for text in texts]


def main():
    dump = sys.argv[1]
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 2000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 32)
    rng = random.Random(seed)
    pools = groups()
    print(f"1..{len(PATTERNS)}\n# seed {seed}")
    tests = []
    for pattern in PATTERNS.values():
        texts = []
        for _ in range(n):
            own = [rng.choice(rng.choice(pools)) for _ in range(6)]
            texts.append("".join(rng.choice(rng.choice([own, own, EXTRA])) for _ in range(rng.randint(1, 25))))
        tests.append((pattern, texts))
    lines = iter(ours(dump, tests))
    failed = False
    for number, (name, (pattern, texts)) in enumerate(zip(PATTERNS, tests), 1):
        wrong = []
        for text, expected in zip(texts, theirs(pattern, texts)):
            got = next(lines)
            if got != expected:
                wrong.append((text, got, expected))
        for text, got, expected in wrong[:3]:
            print(f"# {ascii(text)}\n#   ours   {got}\n#   theirs {expected}")
        print(f"{'not ok' if wrong else 'ok'} {number} - {name}: {n - len(wrong)} of {n} texts")
        failed |= bool(wrong)
    return failed


sys.exit(main())
