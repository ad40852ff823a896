"""Bytes of a file become what the image processor is given: RGB, as docs/verify.md says."""
import io

import numpy as np
from PIL import Image, ImageFile, ImageOps
from transformers.image_transforms import convert_to_rgb


def decode(data, settings):
    # a bound of ours, told by imagedecode
    Image.MAX_IMAGE_PIXELS = None
    ImageFile.LOAD_TRUNCATED_IMAGES = settings.get("imagedecode", "truncated") == "fill"
    image = Image.open(io.BytesIO(data))
    image.load()
    if settings.get("imagedecode", "exif", "apply") == "apply":
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I;16") or image.mode == "I":
        # the processor would clip 16 bits to 255
        return Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)).convert("RGB")
    if settings.get("imagedecode", "alpha", "white") == "drop":
        return image.convert("RGBA").convert("RGB") if image.mode in ("P", "PA", "LA") else image.convert("RGB")
    return Image.fromarray(convert_to_rgb(image, return_numpy=True))
