"""The part of the page about a run that is spread over nodes: its ranks, nodes, links and producers."""
from .stats import OF_LINK, OF_PRODUCER
from .tables import elements, table
from .words import bottleneck_words, duration, escape, number, percent, size


def add_up(told):
    """elements of several processes that run the same text, as one process would tell them"""
    found = {}
    for e in (e for elements_ in told for e in elements_):
        into = found.setdefault(e["name"], {"name": e["name"], "queue": {"mean": 0, "max": 0}})
        for key, value in e.items():
            if key in ("workers", "items", "bytes_copied") or key.endswith("_s") and value is not None:
                into[key] = into.get(key, 0) + value
        queue = e.get("queue") or {}
        into["queue"] = {"mean": into["queue"]["mean"] + queue.get("mean", 0), "max": max(into["queue"]["max"], queue.get("max", 0))}
    return list(found.values())


def busiest(told):
    share = {e["name"]: (e.get("working_s") or 0) / max(1, e.get("workers", 1)) for e in told}
    return max(share, key=share.get) if share else "–"


def by_node(producers):
    """{address: its producers}"""
    found = {}
    for producer in producers:
        found.setdefault(producer.get("ip") or "–", []).append(producer)
    return dict(sorted(found.items()))


def elements_of(producers):
    return add_up((producer.get("pipeline") or {}).get("elements") or [] for producer in producers)


def rate_words(n_bytes, seconds):
    return f"{number(n_bytes / seconds / 1e6)} MB/s" if seconds > 0 else "–"


def made_words(producers, wall):
    units, n_bytes, made_s = (sum(producer[key] for producer in producers) for key in OF_PRODUCER)
    return (f"{units:,}", size(n_bytes), rate_words(n_bytes, wall), duration(made_s), duration(made_s / units) if units else "–",
            busiest(elements_of(producers)))


MADE = ("units", "bytes", "made", "time it took", "a unit", "works most")


def link_rows(run):
    """from node to node: ranks of a node come over the same one"""
    found = {}
    for p in run.ranks:
        for ip, link in p.of("links", {}).items():
            into = found.setdefault((ip, p.of("node", "–")), dict.fromkeys(OF_LINK, 0))
            for key in OF_LINK:
                into[key] += link[key]
    for (come_from, to), link in sorted(found.items()):
        own = come_from == to
        yield (come_from, "itself: no link" if own else to, f"{link['units']:,}", size(link["bytes"]), rate_words(link["bytes"], run.wall),
               duration(link["pulled_s"]), "–" if own else rate_words(link["bytes"], link["pulled_s"]), duration(link["made_s"]))


def rank_row(p):
    rate, units = p.of("samples") / p.of("wall_s") if p.of("wall_s") else None, p.of("units", {})
    return (f"{p.rank[0]} of {p.rank[1]}", p.of("node", "–"), percent(p.end.get("wait_ratio")), number(rate), f"{p.of('steps', 0):,}",
            *(f"{units.get(key, 0):,}" for key in ("units", "lost", "hedged", "reissued")), f"{sum(p.of('skipped', {}).values()):,}",
            size(p.of("peak_rss_bytes")), bottleneck_words(p.bottleneck), p.status())


def spread(run):
    first, n_ranks, producers = run.ranks[0], len(run.ranks), run.producers
    yield f"<pre>{escape(first.head.get('pipeline', ''))}</pre>"
    if first.head.get("then"):
        yield f"<p>On each rank:</p><pre>{escape(first.head['then'])}</pre>"
    hosts = ", ".join(dict.fromkeys(str(p.head.get("host", "?")) for p in run.ranks))
    yield (f"<p>Headrace {escape(first.head.get('version', '?'))}, {escape(first.head.get('started', '?'))}, spread over nodes: {n_ranks} of "
           f"{escape(first.rank[1])} ranks, on {escape(hosts)}; {escape(run.status())}</p>")
    if not run.whole:
        yield "<p>Not all ranks are here, and producers work for all: what a sample costs in processor time and copies is not known.</p>"
    told = next((p.of("advice", {}).get("text") for p in run.ranks if p.bottleneck is run.most), None)
    if told:
        yield f"<p>{escape(bottleneck_words(run.most))}: {escape(told)}</p>"
    if run.kinds():
        yield "<p>Skipped: " + ", ".join(f"{n:,} {escape(kind)}" for kind, n in run.kinds().items()) + "</p>"
    yield from table(f"Ranks of {run.name}", ("rank", "node", "wait ratio", "samples/s", "steps", "units", "lost", "late, asked for twice", "asked for anew",
                                              "skipped", "peak memory", "bottleneck", "status"), [rank_row(p) for p in run.ranks])
    yield from table(f"Nodes of {run.name}", ("node", "producers", *MADE),
                     [(node, len(there), *made_words(there, run.wall)) for node, there in by_node(producers).items()])
    yield from table(f"Links of {run.name}", ("from node", "to node", "units", "bytes", "came", "on their way", "speed on the way", "time to make them"),
                     list(link_rows(run)))
    at_end = {(producer["index"], producer.get("pid")) for p in run.ranks for producer in p.of("producers", []) if producer.get("error") is None}
    rows = [(producer["index"], producer.get("ip") or "–", producer["pid"], "at work" if (producer["index"], producer["pid"]) in at_end else "gone",
             *made_words([producer], run.wall)) for producer in producers]
    rows += [(index, where, "–", why, *["–"] * len(MADE)) for index, where, why in run.silent]
    yield from table(f"Producers of {run.name}", ("producer", "node", "process", "in the end", *MADE), rows)
    for node, there in by_node(producers).items():
        yield from elements(f"node {node}, all its producers", run.wall, elements_of(there))
    own = add_up(p.of("elements", []) for p in run.ranks)
    if own:
        yield from elements("all ranks here", run.wall, own)
