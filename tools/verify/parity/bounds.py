"""What is promised for a field, from the settings of both sides. docs/verify.md has the table."""
from dataclasses import dataclass

# greatest difference of the two ways to write float32's normalisation, mean and deviation 0.5
SPELLING = 6e-8


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
            words.append(f"{self.value:.1g} within a level")
        return "; ".join(words)


def pixel_bound(settings, backend, exact):
    if exact:
        return Bound()
    bound = Bound()
    if settings.get("imagedecode", "exact", True) is False:
        return Bound(levels=None)
    if settings.find("resize") and settings.get("resize", "reference") != backend:
        bound = Bound(levels=2, share=0.005)
    if settings.get("patchify", "normalize") != backend:
        mean, std, _ = settings.statistics
        dtype = settings.get("patchify", "dtype")
        plain = set(mean) == set(std) == {0.5}
        if dtype == "float32":
            # otherwise two units in the last place, of the largest value there can be
            bound.value = SPELLING if plain else 2 ** -22 * max(max(m, 1 - m) / s for m, s in zip(mean, std))
        elif dtype == "float16" or (dtype == "bfloat16" and not plain):
            # they may round to neighbours
            bits = 10 if dtype == "float16" else 7
            bound.value = 2.0 ** -bits * max(1.0, max(max(m, 1 - m) / s for m, s in zip(mean, std)))
    return bound
