"""Comparing fields, and the sums of it."""
import numpy as np


class Field:
    """All that was compared of one field."""

    def __init__(self, name, bound):
        self.name, self.bound = name, bound
        self.samples = self.values = self.differing = self.other_levels = 0
        self.other_shapes = 0  # samples whose values could not be compared
        self.greatest, self.greatest_levels = 0.0, 0
        self.broken = False   # beyond the bound, or of another shape
        self.first = None     # the first difference of all

    def note(self, what):
        if self.first is None:
            self.first = what

    def compare(self, ours, theirs):
        """numbers that must be equal"""
        self.samples += 1
        if ours.shape != theirs.shape:
            self.broken = True
            self.other_shapes += 1
            same = min(ours.size, theirs.size)
            wrong = np.flatnonzero(ours.ravel()[:same] != theirs.ravel()[:same])
            what = {"ours": list(ours.shape), "theirs": list(theirs.shape), "what": "shape"}
            # where rows have other lengths, an index would say nothing
            if ours.ndim == 1 and theirs.ndim == 1 and len(wrong):
                what["index"] = int(wrong[0])
            self.note(what)
            return False
        self.values += ours.size
        difference = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
        return self.count(ours, theirs, difference, difference != 0)

    def count(self, ours, theirs, difference, wrong):
        if not wrong.any():
            return True
        self.differing += int(wrong.sum())
        self.greatest = max(self.greatest, float(difference.max()))
        if not self.greatest <= self.bound.value:
            self.broken = True
            # the first that is too far, not the first that is not equal
            wrong = ~(difference <= self.bound.value)
        index = tuple(int(i) for i in np.unravel_index(int(np.flatnonzero(wrong)[0]), ours.shape))
        self.note({"what": "value", "index": list(index), "ours": ours[index].item(), "theirs": theirs[index].item()})
        return False

    def compare_pixels(self, ours, theirs, statistics):
        """ours: float32, or levels as uint8; theirs: float32 rounded to our dtype. Rows hold all of a channel
        after the other."""
        if ours.shape != theirs.shape:
            return self.compare(ours, theirs)
        self.samples += 1
        self.values += ours.size
        if ours.tobytes() == theirs.tobytes():
            return True
        our_levels, their_levels = (to_levels(x, statistics) for x in (ours, theirs))
        levels = np.abs(our_levels - their_levels)
        other = levels != 0
        if other.any():
            self.other_levels += int(other.sum())
            self.differing += int(other.sum())
            self.greatest_levels = max(self.greatest_levels, int(levels.max()))
            if self.bound.levels is not None and levels.max() > self.bound.levels:
                self.broken = True
                other = levels > self.bound.levels
            index = tuple(int(i) for i in np.unravel_index(int(np.flatnonzero(other)[0]), ours.shape))
            self.note({"what": "level", "index": list(index), "ours": int(our_levels[index]),
                       "theirs": int(their_levels[index])})
        # NaN is no level: it differs from everything
        difference = np.where(levels != 0, 0, np.abs(ours.astype(np.float64) - theirs.astype(np.float64)))
        same = self.count(ours, theirs, difference, difference != 0)
        return same and not (levels != 0).any()

    @property
    def share(self):
        return self.differing / self.values if self.values else 0.0

    @property
    def good(self):
        if self.broken:
            return False
        return self.bound.levels is None or not self.values or self.other_levels / self.values <= self.bound.share


def to_levels(values, statistics):
    if values.dtype == np.uint8:
        return values.astype(np.int32)
    mean, std, factor = statistics
    rows = values.astype(np.float64).reshape(len(values), 3, -1)
    levels = (rows * np.array(std)[:, None] + np.array(mean)[:, None]) / factor
    return np.rint(np.nan_to_num(levels, nan=-1e6)).astype(np.int32).reshape(values.shape)
