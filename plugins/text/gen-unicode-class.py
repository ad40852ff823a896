#!/usr/bin/env python3
"""Writes unicode-class-table.h: one byte for each code point, what the scanner and the quick check
of NFC need to know about it. The table is in the tree; run this again only for a newer Unicode.

usage: pip install unicodedataplus==16.0.0.post1 && gen-unicode-class.py >unicode-class-table.h
"""
import sys
import unicodedataplus as ucd

L, N, SPACE, NEWLINE = 1, 2, 3, 4  # 0: anything else; bits 0 to 2
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


def main():
    unsafe = find_unsafe()
    table = bytearray(0x110000)
    count = [0] * 5
    for c in range(0x110000):
        category = ucd.category(chr(c))[0]
        kind = NEWLINE if c in (10, 13) else SPACE if c in WHITE_SPACE else \
            L if category == "L" else N if category == "N" else 0
        count[kind] += 1
        table[c] = kind | (UNSAFE if c in unsafe else 0) | (0 if c > 0 and is_old(c) else BARRIER)
    assert ucd.unidata_version.startswith("16.0") and count[L] == 141028 and count[N] == 1911, count
    blocks, index = {}, []
    for at in range(0, 0x110000, BLOCK):
        index.append(blocks.setdefault(bytes(table[at:at + BLOCK]), len(blocks)))
    assert len(blocks) < 65536
    print("/* unicode-class-table.h: made by gen-unicode-class.py; not for editing", file=sys.stdout)
    print(" *")
    print(" * Unicode %s: %d letters, %d numbers; %d code points that NFC may change, as of 9.0 */"
          % (ucd.unidata_version, count[L], count[N], len(unsafe)))
    print("/* clang-format off */")
    print("static const guint16 class_index[%d] = {" % len(index))
    for at in range(0, len(index), 32):
        print("  " + ",".join(map(str, index[at:at + 32])) + ",")
    print("};\nstatic const guint8 class_blocks[%d][%d] = {" % (len(blocks), BLOCK))
    for block in blocks:
        print("  {" + ",".join(map(str, block)) + "},")
    print("};\n/* clang-format on */")


main()
