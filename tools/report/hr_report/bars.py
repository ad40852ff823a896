"""The runs as bars: each a rung, a step of its trainer, and what it costs."""
from .words import duration, escape, number, peak_words, percent, short, size

ROW = 44  # of a run in the picture


def column(x, wide, title, rows):
    """bars below each other, each with its value in words; rows: (value, [(class, share of the value)], words, tooltip)"""
    yield f'<text class="soft" x="{x}" y="22">{escape(title)}</text>'
    most = max((value for value, *_ in rows if value is not None), default=0) or 1
    for i, (value, parts, words, tip) in enumerate(rows):
        y, at = 36 + ROW * i, x
        for kind, share in parts if value is not None else ():
            width = wide * value / most * share
            yield f'<rect class="{kind}" x="{at:.1f}" y="{y}" width="{width:.1f}" height="14"><title>{escape(tip)}</title></rect>'
            at += width
        yield f'<text x="{x}" y="{y + 27}" class="soft">{escape(words)}</text>'


def step_row(run):
    if run.step_s is None:
        return None, [], "no trainer", ""
    shares = [part / sum(run.parts) for part in run.parts]
    told = ", ".join(f"{what} {percent(share)}" for what, share in zip(("waits for data", "for the device", "trains"), shares))
    return run.step_s, list(zip(("wait", "transfer", "train"), shares)), f"{percent(run.ratio)} of {duration(run.step_s)}", told


def ladder(runs):
    """each run a rung: a step of its trainer, and what it costs"""
    left, columns = 180, []
    if any(run.trainers for run in runs):
        columns.append((340, "a step, and how much of it is waiting", [step_row(run) for run in runs]))
    plain = [("plain", 1)]
    columns.append((130, "samples a second", [(run.rate, plain, number(run.rate), run.name) for run in runs]))
    columns.append((130, "CPU time a sample", [(run.cpu_ms, plain, f"{number(run.cpu_ms)} ms", run.name) for run in runs]))
    copies = [run.a_sample(run.copied) for run in runs]
    columns.append((130, "copied a sample", [(n, plain, size(n), run.name) for n, run in zip(copies, runs)]))
    columns.append((150, "peak memory", [(sum(run.peaks), [("plain", p / sum(run.peaks)) for p in run.peaks] if sum(run.peaks) else [],
                                          peak_words(run.peaks), run.name) for run in runs]))
    wide = left + sum(w + 30 for w, *_ in columns)
    yield (f'<figure><div class="scroll" tabindex="0" role="region" aria-label="The runs as bars"><svg viewBox="0 0 {wide} {36 + ROW * len(runs)}" '
           'role="img" aria-label="The runs as bars; the table below says the same">')
    for i, run in enumerate(runs):
        yield f'<text x="8" y="{48 + ROW * i}">{escape(short(run.name, 24))}<title>{escape(run.name)}</title></text>'
    x = left
    for width, title, rows in columns:
        yield from column(x, width, title, rows)
        x += width + 30
    yield "</svg></div>"
    if any(run.trainers for run in runs):
        yield '<figcaption><ul class="legend">' + "".join(
            f'<li><svg class="key" viewBox="0 0 28 12" aria-hidden="true"><rect class="{kind}" width="28" height="12"/></svg>{what}</li>'
            for kind, what in (("wait", "waits for data"), ("transfer", "waits for the device"), ("train", "trains"))) + "</ul></figcaption>"
    else:
        yield "<figcaption>No run has a trainer (trainsim, or a program that pulls), so there is no wait ratio.</figcaption>"
    yield "</figure>"
