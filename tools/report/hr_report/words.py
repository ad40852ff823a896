"""Numbers and names as people read them, and text as HTML has it."""
import html
import math
import re


def number(value, digits=3):
    """a few digits, as people write them"""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0 or abs(value) >= 10 ** digits:
        return f"{value:,.0f}"
    return f"{value:.{max(0, digits - 1 - math.floor(math.log10(abs(value))))}f}"


def percent(value):
    return "–" if value is None else f"{100 * value:.1f} %"


def size(value):
    if value is None or not math.isfinite(value):
        return "–"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{number(value)} {unit}"
        value /= 1024
    return f"{number(value)} TiB"


def duration(seconds):
    if seconds is None:
        return "–"
    return f"{number(seconds)} s" if seconds >= 1 else f"{number(1000 * seconds)} ms"


def escape(text):
    """for HTML; what is no character of a text is shown as such"""
    text = re.sub("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "\ufffd", str(text))
    return html.escape(text, quote=True)


def bottleneck_words(told):
    where = f"node {told['node']}" if told.get("node") else None
    return f"{', '.join(str(what) for what in (told.get('element'), where) if what) or '–'} ({told.get('kind', '–')})"


def peak_words(peaks):
    """each, or of many the largest"""
    return " + ".join(size(p) for p in peaks) if len(peaks) <= 3 else f"{len(peaks)} × {size(max(peaks))} or less"


def short(text, n):
    return text if len(text) <= n else text[:n - 1] + "…"
