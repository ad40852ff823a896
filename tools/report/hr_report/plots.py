"""A value over the time of the runs, a line each."""
import math
import statistics

from .style import N_COLOURS
from .tables import table
from .words import duration, escape, number

DASHES = ("", "7 3", "2 3", "9 3 2 3", "1 5", "12 4", "4 4 1 4")
UNEVEN = 8  # how much longer than another a run may be before each has a time scale of its own


def style_of(i):
    dash = DASHES[i // N_COLOURS % len(DASHES)]
    return f'class="plot c{i % N_COLOURS}"' + (f' stroke-dasharray="{dash}"' if dash else "")


def ratio_between(a, b):
    if a["steps"] < 1:  # the cold start is no waiting, and its step is all training
        return None
    stood = min(b["transfer_wait_s"] - a["transfer_wait_s"], b["train_s"] - a["train_s"])
    total = b["prepare_s"] - a["prepare_s"] + b["train_s"] - a["train_s"]
    return min(1, max(0, (b["prepare_s"] - a["prepare_s"] + stood) / total)) if total > 0 else None


def rate_between(a, b):
    return max(0, (b["samples"] - a["samples"]) / (b["wall_s"] - a["wall_s"]))


def points_of(run, series):
    rows = list(run.rows())
    points = [(b["wall_s"], series(a, b)) for a, b in zip(rows, rows[1:]) if b["wall_s"] > a["wall_s"]]
    return [(x, y) for x, y in points if y is not None and math.isfinite(y)]


def lines(runs, title, series, top=None, shown=number):
    """a value over the time of the run; series(row before, row) may be None"""
    plots = [points_of(run, series) if run.trainers or not top else [] for run in runs]
    drawn = [i for i, points in enumerate(plots) if len(points) > 1]
    if not drawn:
        return
    width, height, left = 1200, 260, 70
    ends = [plots[i][-1][0] for i in drawn]
    own = max(ends) > UNEVEN * min(ends)
    most = top or 1.1 * max(y for points in plots for _, y in points) or 1
    yield (f'<figure><svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)} over time; the table below says the same">'
           f'<line class="axis" x1="{left}" x2="{width - 10}" y1="{height - 30}" y2="{height - 30}"/>'
           f'<text class="soft" x="6" y="22">{shown(most)}</text><text class="soft" x="6" y="{height - 26}">0</text>'
           f'<text class="soft" x="{width - 10}" y="{height - 8}" text-anchor="end">'
           + ("the end of each run" if own else duration(max(ends))) + "</text>")
    for i in drawn:
        end = plots[i][-1][0] if own else max(ends)
        path = " ".join(f"{left + (width - left - 10) * x / end:.1f},{height - 30 - (height - 50) * min(1, y / most):.1f}" for x, y in plots[i])
        yield f'<polyline {style_of(i)} points="{path}"><title>{escape(runs[i].name)}</title></polyline>'
    legend = "".join(f'<li><svg class="key" viewBox="0 0 28 12" aria-hidden="true"><line {style_of(i)} x1="0" x2="28" y1="6" y2="6"/></svg>'
                     f"{escape(runs[i].name)}{' (' + duration(plots[i][-1][0]) + ')' if own else ''}</li>" for i in drawn)
    yield f'</svg><figcaption>{escape(title)}<ul class="legend">{legend}</ul></figcaption></figure>'
    told = [(runs[i].name, *(shown(v) for v in (values[0], min(values), statistics.median(values), max(values), values[-1])))
            for i in drawn for values in [[y for _, y in plots[i]]]]
    yield from table(f"{title} over time", ("run", "at first", "least", "median", "most", "at last"), told)
