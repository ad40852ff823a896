"""Who the trainer waits for: which node, which of its elements, or which link."""
from __future__ import annotations

from typing import Any

# as the verdict of a pipeline: below it nobody waits
_ENOUGH = 0.05
# links that differ by less are alike
_ALIKE = 2.0
_MB = 1e6


def judge(stats: dict[str, Any], least_steps: int = 2) -> dict[str, Any]:
    """The verdict about the statistics of a rank.

    :param least_steps: before them there is none.
    :returns: ``bottleneck``: ``kind``, which is ``trainer``, ``link`` or ``producers``, and ``node`` and ``element``, where
        there is one; ``advice``: ``element`` and ``text``, one line. ``None``: it is too early to tell.
    """
    ratio = stats["wait_ratio"]
    if ratio is None or stats["steps"] < least_steps:
        return {"bottleneck": None, "advice": None}
    if ratio <= _ENOUGH:
        return _verdict("trainer", None, None, f"the trainer: it waited for {ratio:.1%} of its time")
    far = {ip: link for ip, link in stats["links"].items() if ip != stats["node"] and link["units"]}
    pulled = sum(link["pulled_s"] for link in far.values())
    # units come while the trainer works, too: only a link that is in use most of the time can be what it waits for
    if far and pulled > 0.5 * (stats["prepare_s"] + stats["train_s"] + (stats["cold_start_s"] or 0)):
        return _judge_links(stats, far)
    return _judge_producers(stats)


def _verdict(kind: str, node: str | None, element: str | None, text: str) -> dict[str, Any]:
    return {"bottleneck": {"kind": kind, "node": node, "element": element}, "advice": {"element": element, "text": text}}


def _rate(link: dict[str, Any]) -> float:
    return float(link["bytes"] / max(link["pulled_s"], 1e-9))


def _judge_links(stats: dict[str, Any], far: dict[str, Any]) -> dict[str, Any]:
    """One that is slower than the others is that node's; if all are alike it is the rank's own, which all come over."""
    slow = min(far, key=lambda ip: _rate(far[ip]))
    own = len(far) > 1 and max(map(_rate, far.values())) < _ALIKE * _rate(far[slow])
    help_ = ("more nodes share the load" if stats["placement"] == "aligned"
             else 'placement="aligned" makes batches on the rank\'s own node')
    which = f"of node {stats['node']}, which all others are as slow over" if own else f"from node {slow} to {stats['node']}"
    return _verdict("link", stats["node"] if own else slow, None, (
        f"the link {which}: {_rate(far[slow]) / _MB:.1f} MB/s, and the trainer waits for"
        f" {stats['wait_ratio']:.0%} of its time; {help_}, and pixels as uint8 with patchify in then= are fewer bytes"))


def _find_busiest(pipeline: dict[str, Any]) -> tuple[str | None, str | None]:
    """The element that works most, and its kind if the pipeline's own verdict names it."""
    elements = pipeline.get("elements", [])
    if not elements:
        return None, None
    name = max(elements, key=lambda element: float(element["working_s"] / max(1, element["workers"])))["name"]
    bottleneck = pipeline.get("bottleneck") or {}
    return name, bottleneck.get("kind") if bottleneck.get("element") == name else None


def _judge_producers(stats: dict[str, Any]) -> dict[str, Any]:
    found = [producer for producer in stats["producers"] if producer.get("units")]
    if not found:
        return _verdict("producers", None, None, "producers: none of them has made a unit")
    slow = max(found, key=lambda producer: producer["made_s"] / producer["units"])
    pipeline = slow["pipeline"] or {}
    element, kind = _find_busiest(pipeline)
    what = "no element stands out" if element is None else f"{element} works most" + (f" ({kind})" if kind else "")
    advice = (pipeline.get("advice") or {}).get("text") if kind else None
    return _verdict("producers", slow["ip"], element, (
        f"producers: the trainer waits for {stats['wait_ratio']:.0%} of its time; {slow['made_s'] / slow['units']:.2f} s"
        f" for a unit on node {slow['ip']}: {what}" + (f"; {advice}" if advice else "")
        + "; more producers (producers=, num_cpus=) share the work"))
