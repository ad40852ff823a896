#!/usr/bin/env python3
"""Files of other formats under image names.

usage: make.py FOLDER: writes them all there
"""
import base64
import gzip
import io
import json
import pathlib
import struct
import sys
import tarfile
import zipfile
import zlib


def box(kind, content=b""):
    """A box of the ISO base media format."""
    return struct.pack(">I", 8 + len(content)) + kind + content


def brand(name):
    return box(b"ftyp", name + b"\0\0\0\0" + name + b"mif1") + box(b"meta", b"\0" * 32) + box(b"mdat", b"x" * 64)


def zip_file():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("image.png"), b"no image")
    return out.getvalue()


def tar_file(link):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo("image.png")
        if link:
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(entry)
    return out.getvalue()


def fits():
    cards = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   =                    2",
             "NAXIS1  =                    1", "NAXIS2  =                    1", "END"]
    return "".join(card.ljust(80) for card in cards).encode().ljust(2880) + b"\0" * 2880


def nifti():
    return struct.pack("<i", 348).ljust(344, b"\0") + b"n+1\0" + b"\0" * 64


def tga():
    return struct.pack("<BBBHHBHHHHBB", 0, 0, 2, 0, 0, 0, 0, 0, 1, 1, 24, 0) + b"\1\2\3" + b"\0" * 8 \
        + b"TRUEVISION-XFILE.\0"


def icon(kind):
    return struct.pack("<HHH", 0, kind, 1) + struct.pack("<BBBBHHII", 1, 1, 0, 0, 1, 24, 40, 22) + b"\0" * 40


SVG = b'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="9" height="9">' \
    b'<image xlink:href="%s" width="9" height="9"/></svg>'
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n" \
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) (r) file closefile\nshowpage\n"
MVG = b"push graphic-context\nviewbox 0 0 9 9\nimage over 0,0 0,0 'https://127.0.0.1:9/x.png'\npop graphic-context\n"
MSL = b'<?xml version="1.0"?>\n<image><read filename="/etc/passwd"/><write filename="/tmp/x"/></image>\n'
HTML = b"<!DOCTYPE html>\n<html><body><img src=//127.0.0.1/x></body></html>\n"

# name, bytes, and what the message must say it seems to be
FOREIGN = [
    ("svg-external-file.png", SVG % b"file:///etc/passwd", "an SVG drawing"),
    ("svg-external-http.jpg", SVG % b"http://127.0.0.1:9/x.png", "an SVG drawing"),
    ("svg-with-declaration.webp", b'\xef\xbb\xbf<?xml version="1.0"?>\n<!DOCTYPE svg [<!ENTITY x SYSTEM '
     b'"file:///etc/passwd">]>\n<svg><text>&x;</text></svg>', "an SVG drawing"),
    ("svgz.png", gzip.compress(SVG % b"file:///etc/passwd", mtime=0), "gzip data"),
    ("pdf.jpg", PDF, "a PDF document"),
    ("eps.png", EPS, "a PostScript document"),
    ("eps-dos.tif", b"\xc5\xd0\xd3\xc6" + struct.pack("<II", 30, len(EPS)) + b"\0" * 18 + EPS, "a PostScript document"),
    ("ps.jpg", b"%!PS\nshowpage\n", "a PostScript document"),
    ("mvg.png", MVG, "an MVG drawing"),
    ("msl.jpg", MSL, "an XML document"),
    ("ephemeral.png", b"ephemeral:/tmp/x\n", 'text that begins "ephemeral:'),
    ("label.jpg", b"label:@/etc/passwd\n", 'text that begins "label:@'),
    ("xcf.png", b"gimp xcf v011\0" + struct.pack(">III", 1, 1, 0) + b"\0" * 32, "a GIMP file"),
    ("jxl-codestream.jpg", b"\xff\x0a\xfa\x7f\x01\x90\x08\x06\x01\x00", "a JPEG XL image"),
    ("jxl-container.png", b"\0\0\0\x0cJXL \r\n\x87\n" + box(b"ftyp", b"jxl \0\0\0\0jxl "), "a JPEG XL image"),
    ("exr.png", b"\x76\x2f\x31\x01\x02\0\0\0channels\0chlist\0", "an OpenEXR image"),
    ("fits.tif", fits(), "a FITS image"),
    ("heic.jpg", brand(b"heic"), "a HEIC image"),
    ("heif-sequence.jpg", brand(b"msf1"), "a HEIC image"),
    ("avif.png", brand(b"avif"), "an AVIF image"),
    ("ico.png", icon(1), "an icon (ICO)"),
    ("cur.png", icon(2), "a cursor (CUR)"),
    ("psd.jpg", b"8BPS\0\1" + b"\0" * 6 + struct.pack(">HIIHH", 3, 1, 1, 8, 3) + b"\0" * 12, "a Photoshop file"),
    ("jp2.jpg", b"\0\0\0\x0cjP  \r\n\x87\n" + box(b"ftyp", b"jp2 \0\0\0\0jp2 "), "a JPEG 2000 image"),
    ("j2k.png", b"\xff\x4f\xff\x51\0\x29" + b"\0" * 40, "a JPEG 2000 image"),
    ("pgm.png", b"P5\n1 1\n255\n\x80", "a PNM image"),
    ("ppm-text.jpg", b"P3\n1 1\n255\n1 2 3\n", "a PNM image"),
    ("pam.png", b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 1\nMAXVAL 255\nENDHDR\n\x80", "a PNM image"),
    ("pfm.png", b"PF\n1 1\n-1.0\n" + b"\0" * 12, "a PNM image"),
    ("hdr.jpg", b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 1 +X 1\n\1\2\3\4", "a Radiance HDR image"),
    ("tga.png", tga(), "a TGA image"),
    ("pcx.bmp", b"\x0a\x05\x01\x08" + struct.pack("<HHHHHH", 0, 0, 0, 0, 72, 72) + b"\0" * 112, "a PCX image"),
    ("dds.png", b"DDS " + struct.pack("<I", 124) + b"\0" * 120, "a DDS texture"),
    ("nifti.tif", nifti(), "a NIfTI image"),
    ("mat.tif", b"MATLAB 5.0 MAT-file, Platform: GLNXA64".ljust(124) + b"\0\1IM", "a MATLAB file"),
    ("dicom.jpg", b"\0" * 128 + b"DICM" + b"\2\0\0\0UL\4\0", "a DICOM image"),
    ("xpm.png", b'/* XPM */\nstatic char *x[] = { "1 1 1 1", "a c #000000", "a" };\n', "an XPM image"),
    ("xbm.png", b"#define x_width 8\n#define x_height 1\nstatic char x_bits[] = { 0x01 };\n", 'text that begins "#define'),
    ("wmf.png", b"\xd7\xcd\xc6\x9a" + b"\0" * 36, "a Windows metafile"),
    ("djvu.tif", b"AT&TFORM\0\0\0\x0eDJVUINFO", "a DjVu document"),
    ("tar.png", tar_file(False), "a tar archive"),
    ("tar-link.jpg", tar_file(True), "a tar archive"),
    ("zip.png", zip_file(), "a zip archive"),
    ("gzip.jpg", gzip.compress(b"text", mtime=0), "gzip data"),
    ("xz.jpg", b"\xfd7zXZ\0\0\4", "xz data"),
    ("html.jpg", HTML, "an HTML page"),
    ("xml.png", b'<?xml version="1.0"?>\n<a>1</a>\n', "an XML document"),
    ("s3-error.jpg", b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code></Error>', "an XML error document"),
    ("json.png", b'{"error": "not found"}\n', "a JSON document"),
    ("elf.jpg", b"\x7fELF\2\1\1" + b"\0" * 57, "a program (ELF)"),
    ("script.png", b"#!/bin/sh\ntouch /tmp/x\n", 'text that begins "#!/bin/sh'),
    ("mp4.jpg", brand(b"isom"), "an MP4 video"),
    ("webm.png", b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1" + b"\0" * 32, "a Matroska or WebM video"),
    ("avi.webp", b"RIFF\x24\0\0\0AVI LIST", "an AVI video"),
    ("wav.webp", b"RIFF\x24\0\0\0WAVEfmt ", "a WAV sound"),
    ("mp3.jpg", b"ID3\4\0\0\0\0\0\0\xff\xfb\x90\0" + b"\0" * 32, "an MP3 sound"),
    ("mp3-bare.jpg", b"\xff\xfb\x90\0" + b"\0" * 413, "an MP3 sound"),
    ("npy.png", b"\x93NUMPY\1\0" + b"\x16\0{'descr': '|u1'}     \n", "a numpy array"),
    ("lfs.jpg", b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "a Git LFS pointer"),
    ("base64.jpg", base64.b64encode(b"\xff\xd8\xff\xe0\0\x10JFIF"), "base64 text of a JPEG"),
    ("empty.jpg", b"", "empty"),
    ("one-byte.png", b"\x89", "bytes that begin 89"),
    ("text.png", b"hello, world\n", 'text that begins "hello'),
    ("zeros.jpg", b"\0" * 100, "100 zero bytes"),
    ("pdf-behind-space.png", b"\n\n" + PDF, "a PDF document"),
]

# begin like one of ours, and go on as something else
DISGUISED = [
    ("gif-pdf.gif", b"GIF89a" + PDF),
    ("gif-script.gif", b"GIF89a/*" + b"\0" * 8 + b"*/=1;alert(1)//"),
    ("jpeg-postscript.jpg", b"\xff\xd8\xff" + EPS),
    ("jpeg-html.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0" + HTML),
    ("png-svg.png", b"\x89PNG\r\n\x1a\n" + SVG % b"file:///etc/passwd"),
    ("webp-svg.webp", b"RIFF" + struct.pack("<I", 200) + b"WEBPVP8 " + SVG % b"file:///etc/passwd"),
    ("tiff-svg.tif", b"II*\0" + struct.pack("<I", 8) + SVG % b"file:///etc/passwd"),
    ("bigtiff-nothing.tif", b"II+\0\x08\0\0\0" + struct.pack("<Q", 1 << 60)),
    ("bmp-text.bmp", b"BM this is no bitmap but a text of more than fifty-four bytes, see?"),
]


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png():
    """1 x 1, red"""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)) \
        + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")


def gif():
    """1 x 1, black"""
    return b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"


def bmp():
    """1 x 1, blue"""
    return b"BM" + struct.pack("<IHHI", 58, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 1, 1, 1, 24, 0, 4, 0, 0, 0, 0) \
        + b"\xff\0\0\0"


# whole images with something behind them
POLYGLOTS = [
    ("png-zip.png", png() + zip_file()),
    ("png-html.png", png() + HTML),
    ("gif-pdf-behind.gif", gif() + PDF),
    ("gif-svg-behind.gif", gif() + SVG % b"file:///etc/passwd"),
]


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, content, *_ in FOREIGN + DISGUISED + POLYGLOTS:
        (folder / name).write_bytes(content)
    print(json.dumps([len(FOREIGN), len(DISGUISED), len(POLYGLOTS)]))


if __name__ == "__main__":
    main()
