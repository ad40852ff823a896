"""Tables: of any rows, of all runs, of elements."""
from .words import bottleneck_words, duration, escape, number, peak_words, percent, size


def table(caption, head, rows, links=False):
    yield (f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}"><table><caption>{escape(caption)}</caption><thead><tr>'
           + "".join(f'<th scope="col">{escape(h)}</th>' for h in head) + "</tr></thead><tbody>")
    for n, row in enumerate(rows, 1):
        first = f'<a href="#run-{n}">{escape(row[0])}</a>' if links else escape(row[0])
        yield f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
    yield "</tbody></table></div>"


def overview(runs):
    first, rows = runs[0], []
    for run in runs:
        faster = run.rate / first.rate if run.rate and first.rate else None
        rows.append((run.name, percent(run.ratio), duration(run.step_s), number(run.rate), "–" if faster is None else f"{number(faster)}×",
                     number(run.cpu_ms), size(run.a_sample(run.copied)), peak_words(run.peaks),
                     bottleneck_words(run.most), duration(run.cold), duration(run.wall), f"{run.samples:,}",
                     f"{sum(run.kinds().values()):,}", run.status()))
    return table("The runs in numbers", ("run", "wait ratio", "a step", "samples/s", "of the first", "CPU ms/sample", "copied/sample", "peak memory",
                                         "bottleneck", "cold start", "all of it", "samples", "skipped", "status"), rows, links=True)


def elements(name, wall, told):
    """of one process, or of several together: their workers are added up, and so are their times"""
    rows = []
    for e in told:
        of = (wall or 1) * max(1, e.get("workers", 1))
        queue = e.get("queue") or {}
        rows.append((e["name"], e.get("workers", "–"), f"{e.get('items', 0):,}",
                     *(percent((e.get(key) or 0) / of) for key in ("working_s", "blocked_in_s", "blocked_out_s", "blocked_cpu_s")),
                     f"{number(queue.get('mean', 0))}, {queue.get('max', 0)}", size(e.get("bytes_copied", 0))))
    return table(f"Elements of {name}", ("element", "workers", "items", "works", "waits for input", "for room", "for a processor",
                                         "queue mean, most", "copied"), rows)
