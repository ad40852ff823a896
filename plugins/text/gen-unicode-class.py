#!/usr/bin/env python3
"""Writes two tables, which are in the tree; run this again only for a newer Unicode.

unicode-class-table.h: one byte for each code point, what the scanner and the quick check of NFC need
to know about it. unicode-category-table.h: general categories and the script Han, for other patterns.

usage: pip install unicodedataplus==16.0.0.post1 && gen-unicode-class.py FOLDER
"""
import os
import sys
import unicodedataplus as ucd

L, N, SPACE, NEWLINE, M = 1, 2, 3, 4, 5  # 0: anything else; bits 0 to 2
UNSAFE = 8  # may not stand in a text that is certainly NFC
BARRIER = 16  # the normaliser must not look at it: NUL, and what Unicode 9 does not know

WHITE_SPACE = {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
               0x202F, 0x205F, 0x3000}
BLOCK = 128


def is_old(c):
    age = ucd.age(chr(c))
    return age != "Unassigned" and float(age) <= 9.0


def find_unsafe():
    """combining, changed by NFC, or able to melt with what stands before; as Unicode 9 has it"""
    unsafe = set()
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000 or not is_old(c):
            continue
        if ucd.combining(chr(c)) or ucd.normalize("NFC", chr(c)) != chr(c):
            unsafe.add(c)
        parts = ucd.decomposition(chr(c)).split()
        if len(parts) == 2 and not parts[0].startswith("<"):
            if ucd.normalize("NFC", chr(c)) == chr(c):
                unsafe.add(int(parts[1], 16))
    unsafe.update(range(0x1161, 0x1176))  # Hangul vowels and final consonants
    unsafe.update(range(0x11A8, 0x11C3))
    return unsafe


def write_classes(file):
    unsafe = find_unsafe()
    table = bytearray(0x110000)
    count = [0] * 6
    for c in range(0x110000):
        category = ucd.category(chr(c))[0]
        kind = NEWLINE if c in (10, 13) else SPACE if c in WHITE_SPACE else \
            L if category == "L" else N if category == "N" else M if category == "M" else 0
        count[kind] += 1
        table[c] = kind | (UNSAFE if c in unsafe else 0) | (0 if c > 0 and is_old(c) else BARRIER)
    assert ucd.unidata_version.startswith("16.0") and count[L] == 141028 and count[N] == 1911, count
    blocks, index = {}, []
    for at in range(0, 0x110000, BLOCK):
        index.append(blocks.setdefault(bytes(table[at:at + BLOCK]), len(blocks)))
    assert len(blocks) < 65536
    print("/* unicode-class-table.h: made by gen-unicode-class.py; not for editing", file=file)
    print(" *", file=file)
    print(" * Unicode %s: %d letters, %d numbers; %d code points that NFC may change, as of 9.0 */"
          % (ucd.unidata_version, count[L], count[N], len(unsafe)), file=file)
    print("/* clang-format off */", file=file)
    print("static const guint16 class_index[%d] = {" % len(index), file=file)
    for at in range(0, len(index), 32):
        print("  " + ",".join(map(str, index[at:at + 32])) + ",", file=file)
    print("};\nstatic const guint8 class_blocks[%d][%d] = {" % (len(blocks), BLOCK), file=file)
    for block in blocks:
        print("  {" + ",".join(map(str, block)) + "},", file=file)
    print("};\n/* clang-format on */", file=file)


# in the order of category_names in unicode-category.c
CATEGORIES = ["Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
              "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co", "Cn"]


def runs_of(value):
    """(first, value) of each run of equal values"""
    runs = []
    for c in range(0x110000):
        v = value(chr(c))
        if not runs or runs[-1][1] != v:
            runs.append((c, v))
    return runs


def write_categories(file):
    runs = runs_of(ucd.category)
    han = runs_of(lambda c: ucd.script(c) == "Han")
    han = [(first, han[i + 1][0] - 1) for i, (first, is_han) in enumerate(han) if is_han]
    numbers = [first << 5 | CATEGORIES.index(category) for first, category in runs]
    print("/* unicode-category-table.h: made by gen-unicode-class.py; not for editing", file=file)
    print(" *", file=file)
    print(" * Unicode %s: first code point << 5 | category, for each run of one category */"
          % ucd.unidata_version, file=file)
    print("/* clang-format off */", file=file)
    print("static const guint32 category_runs[%d] = {" % len(numbers), file=file)
    for at in range(0, len(numbers), 16):
        print("  " + ",".join(map(str, numbers[at:at + 16])) + ",", file=file)
    print("};\nstatic const guint32 han_ranges[%d][2] = {" % len(han), file=file)
    for first, last in han:
        print("  {0x%X,0x%X}," % (first, last), file=file)
    print("};\n/* clang-format on */", file=file)


def main():
    for name, write in (("class", write_classes), ("category", write_categories)):
        with open(os.path.join(sys.argv[1], f"unicode-{name}-table.h"), "w", encoding="utf-8") as file:
            write(file)


main()
