"""The page as a whole, and the part of each run."""
from .bars import ladder
from .plots import lines, rate_between, ratio_between
from .spread import spread
from .style import STYLE
from .tables import elements, overview
from .words import bottleneck_words, escape, percent


def same(runs):
    """whether all delivered the same"""
    sums = {p.end.get("sha256") for run in runs for p in run.takers if not p.cut}
    if len(runs) < 2 or None in sums or not sums or any(len(run.takers) > 1 for run in runs):
        return ""
    if len(sums) == 1:
        return "<p>All runs delivered the same bytes (sha256).</p>"
    return "<p><strong>The runs did not deliver the same bytes</strong> (sha256): they are not alike in what they did.</p>"


def section(n, run):
    yield f'<section aria-labelledby="run-{n}"><h2 id="run-{n}">{escape(run.name)}</h2>'
    alone = [p for p in run.processes if p not in run.ranks]
    for p in alone:
        if len(run.processes) > 1:
            yield f"<h3>{escape(p.name)}</h3>"
        yield f"<pre>{escape(p.head.get('pipeline', ''))}</pre>"
        told = p.of("advice", {}).get("text") if p.bottleneck is run.most else None
        yield (f"<p>Headrace {escape(p.head.get('version', '?'))}, {escape(p.head.get('started', '?'))}, {escape(p.head.get('host', '?'))}, "
               f"{escape(p.head.get('processors', '?'))} processors; {escape(p.status())}"
               + (f". {escape(bottleneck_words(run.most))}: {escape(told)}" if told else "") + "</p>")
        if p.of("skipped", {}):
            yield "<p>Skipped: " + ", ".join(f"{n:,} {escape(kind)}" for kind, n in p.of("skipped", {}).items()) + "</p>"
        yield from elements(p.name, p.of("wall_s"), p.of("elements", []))
    if run.ranks:
        yield from spread(run)
    yield "</section>"


def page(runs, title, note):
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    yield "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
    yield f"<title>{escape(title)}</title><style>{STYLE}</style></head><body><main><h1>{escape(title)}</h1>"
    if note:
        yield f"<p>{escape(note)}</p>"
    yield "<h2>Where the trainer's time goes, and what it costs</h2>"
    yield from ladder(runs)
    yield same(runs)
    yield from overview(runs)
    yield "<h2>Over time</h2>"
    plots = [*lines(runs, "Wait ratio", ratio_between, 1, percent), *lines(runs, "Samples per second", rate_between)]
    yield from plots or ["<p>The runs were too short for a plot.</p>"]
    for n, run in enumerate(runs, 1):
        yield from section(n, run)
    yield "</main></body></html>\n"
