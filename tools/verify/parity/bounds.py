"""What is promised for a field, from the settings of both sides. docs/verify.md has the table."""
from dataclasses import dataclass

import numpy as np


@dataclass
class Bound:
    levels: float = 0      # of 256: greatest difference before normalisation; None: nothing is promised
    share: float = 0       # of values that may be another level
    value: float = 0       # greatest difference of numbers that are the same level

    def __str__(self):
        if self.levels is None:
            return "nothing: exact=false"
        if self.levels == 0 and self.value == 0:
            return "equal"
        words = [] if self.levels == 0 else [f"{self.levels} levels, {self.share:.1%} differ"]
        if self.value:
            words.append(f"{self.value:.2g} within a level")
        return "; ".join(words)


def to_bfloat16(values):
    """float32, rounded to bfloat16, nearest and even"""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


ROUND = {"float32": lambda x: x, "bfloat16": to_bfloat16, "float16": lambda x: x.astype(np.float16).astype(np.float32),
         "uint8": lambda x: np.zeros_like(x)}


def spellings(mean, std, factor):
    """the normalised value of each byte, [256] float32, as the processors on Pillow and on torchvision write it"""
    levels = np.arange(256)
    rescaled = (levels.astype(np.float64) * factor).astype(np.float32)
    pillow = (rescaled - np.float32(mean)) / np.float32(std)
    torchvision = (levels.astype(np.float32) - np.float32(mean / factor)) / np.float32(std / factor)
    return pillow, torchvision


def spelling_bound(statistics, dtype):
    """how far these two are apart once they are of that type"""
    means, stds, factor = statistics
    tables = [[ROUND[dtype](table) for table in spellings(mean, std, factor)] for mean, std in zip(means, stds)]
    return max(float(np.abs(a.astype(np.float64) - b).max()) for a, b in tables)


def pixel_bound(settings, backend, exact):
    if exact:
        return Bound()
    if settings.get("imagedecode", "exact", True) is False:
        return Bound(levels=None)
    bound = Bound()
    if settings.find("resize") and settings.get("resize", "reference") != backend:
        bound = Bound(levels=2, share=0.005)
    if settings.get("patchify", "normalize", backend) != backend:
        bound.value = spelling_bound(settings.statistics, settings.get("patchify", "dtype"))
    return bound
