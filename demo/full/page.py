"""The report of the whole ladder: one page of HTML, nothing loaded from elsewhere."""
import html

STYLE = """
:root { --back: #fbfbf9; --text: #1b1d1f; --soft: #5c6166; --line: #c9cdd1; --wait: #d9822b; --train: #7fb894; }
@media (prefers-color-scheme: dark) { :root { --back: #15181b; --text: #eceff1; --soft: #a5adb4; --line: #3b4248; --wait: #a8641c; --train: #2f6b49; } }
body { margin: 0 auto; max-width: 70rem; padding: 0 1rem 3rem; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } p { color: var(--soft); }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .25rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } thead th { color: var(--soft); font-weight: 500; }
.bar { display: flex; width: 14rem; height: 1rem; } .wait { background: var(--wait); } .train { background: var(--train); }
"""


def table(head, rows):
    """Cells are HTML."""
    cells = "".join(f"<th scope=col>{html.escape(name)}</th>" for name in head)
    body = "".join("<tr><th scope=row>" + row[0] + "</th>" + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>" for row in rows)
    return f"<div class=scroll><table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>"


def bar(ratio):
    return f'<div class=bar role=img aria-label="waits {ratio:.0%}"><div class=wait style="width:{ratio:.1%}"></div>' \
           f'<div class=train style="width:{1 - ratio:.1%}"></div></div>'


def used(told):
    """of each node: into it, out of it, processor time"""
    return "<br>".join(f"{u['in_mb']:.0f} in, {u['out_mb']:.0f} out, {u['cpu_s']:.1f} s" for u in told["used"])


def write(results, ratios, wrong, settings):
    parts = ["<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
             "<title>The whole ladder</title><style>", STYLE, "</style><h1>The whole ladder</h1>",
             f"<p>Nodes are network namespaces of one machine with links of {settings['mbit']} Mbit/s each way; the store is "
             f"{2 * settings['delay']:.0f} ms away. A step takes a rank {settings['step_s'] * 1e3:.0f} ms for {settings['batch']} images ("
             f"{html.escape(settings['resize'])}); {settings['steps']} steps are measured after {settings['warm']}. Orange is waiting.</p>"]
    for scale, result in results.items():
        if result["rungs"]:
            parts += [f"<h2>{html.escape(scale.capitalize())}: the rungs</h2>",
                      table(["rung", "", "waits", "images/s", "MB and processor time, of each node"],
                            [[html.escape(r["name"]), bar(r["wait_ratio"]), f"{r['wait_ratio']:.1%}", f"{r['images_per_s']:.1f}", used(r)]
                             for r in result["rungs"]])]
        if result["arms"]:
            rows = []
            for name, x in ratios[scale].items():
                of_arm = [r for r in result["arms"] if r["name"] == name]
                waits = sorted(r["wait_ratio"] for r in of_arm)
                rows.append([html.escape(name), f"{x:.2f}", f"{waits[0]:.1%} to {waits[-1]:.1%}",
                             f"{sum(r['images_per_s'] for r in of_arm) / len(of_arm):.1f}", used(of_arm[-1])])
            parts += [f"<h2>{html.escape(scale.capitalize())}: lazy retrieval and spread</h2>",
                      table(["", "times neither, median", "waits", "images/s, mean", "MB and processor time, of each node"], rows)]
    parts.append("<h2>Where it does not hold</h2><p>With all ranks on one node everything goes through that node's card, wherever it is made: "
                 "no placement and no way of retrieval helps. Compressed images are smaller than decoded ones: where a rank's own node has "
                 "processors left, it is better made there.</p>")
    parts += [f"<p><strong>Not as expected:</strong> {html.escape(line)}</p>" for line in wrong]
    return "".join(parts) + "</html>\n"
