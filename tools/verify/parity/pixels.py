"""Bytes of a file become what the image processor is given: RGB, as docs/verify.md says.

Where that is not what the processor makes of the file by itself, `note` is told.
"""
import io

import numpy as np
from PIL import Image, ImageFile, ImageOps
from transformers.image_transforms import convert_to_rgb

NOTES = {
    "exif": "images with EXIF orientation were turned before the processor; given a path, it turns JPEGs, and others only with "
            "some backends",
    "gray16": "of 16-bit gray the high byte was taken before the processor, which would clip it to 255",
    "white": "transparency was composed on white before the processor, which does so for images, and drops it for paths",
    "tiff": "exif=ignore: Pillow turns TIFFs while it reads them; they were turned back",
    "gif": "alpha=drop: transparent pixels of a GIF are black here, as with headrace",
}


# what undoes an orientation
TURN_BACK = {2: Image.Transpose.FLIP_LEFT_RIGHT, 3: Image.Transpose.ROTATE_180, 4: Image.Transpose.FLIP_TOP_BOTTOM,
             5: Image.Transpose.TRANSPOSE, 6: Image.Transpose.ROTATE_90, 7: Image.Transpose.TRANSVERSE,
             8: Image.Transpose.ROTATE_270}


def decode(data, settings, note):
    # bounds are imagedecode's business
    Image.MAX_IMAGE_PIXELS = None
    ImageFile.LOAD_TRUNCATED_IMAGES = settings.get("imagedecode", "truncated") == "fill"
    image = Image.open(io.BytesIO(data))
    form, orientation = image.format, image.getexif().get(0x112, 1)
    image.load()
    if settings.get("imagedecode", "exif", "apply") == "apply":
        if form != "TIFF" and orientation in TURN_BACK:
            note("exif", NOTES["exif"])
        image = ImageOps.exif_transpose(image)
    elif form == "TIFF" and orientation in TURN_BACK:
        note("tiff", NOTES["tiff"])
        image = image.transpose(TURN_BACK[orientation])
    if image.mode.startswith("I"):
        note("gray16", NOTES["gray16"])
        return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)).convert("RGB")
    transparent = "A" in image.getbands() or image.info.get("transparency") is not None
    if transparent and settings.get("imagedecode", "alpha", "white") == "drop":
        return Image.fromarray(drop_alpha(image, form, note))
    if transparent:
        note("white", NOTES["white"])
    return Image.fromarray(convert_to_rgb(image, return_numpy=True))


def drop_alpha(image, form, note):
    rgba = np.asarray(image.convert("RGBA"))
    rgb = rgba[..., :3].copy()
    if form == "GIF":
        note("gif", NOTES["gif"])
        rgb[rgba[..., 3] == 0] = 0
    return rgb
