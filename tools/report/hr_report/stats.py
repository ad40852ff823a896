"""What a run tells of itself, in hr-launch --stats=json and in each row of a record: whether it is that, as far as it is used here."""
import math

NEEDED = ("wall_s", "prepare_s", "train_s", "samples")
OF_PRODUCER = ("units", "bytes", "made_s")
OF_LINK = (*OF_PRODUCER, "pulled_s")


def is_number(value):
    try:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= float(value) < math.inf
    except OverflowError:
        return False


def may_be(told, key, kind):
    """null, or missing, or what is expected"""
    return told.get(key) is None or isinstance(told[key], kind)


def is_element(told):
    if not isinstance(told, dict) or not isinstance(told.get("name"), str) or not may_be(told, "queue", dict):
        return False
    return all(is_number(value) for key, value in [*told.items(), *(told.get("queue") or {}).items()]
               if key in ("workers", "items", "bytes_copied", "mean", "max") or key.endswith("_s") and value is not None)


def is_producer(told):
    """of a run that is spread over nodes; one that has not answered has an error instead of numbers"""
    if not isinstance(told, dict) or not is_number(told.get("index")) or not all(may_be(told, key, str) for key in ("ip", "error")):
        return False
    pipeline = {} if told.get("pipeline") is None else told["pipeline"]
    return (told.get("error") is not None or all(is_number(told.get(key)) for key in ("pid", *OF_PRODUCER))) and (
        isinstance(pipeline, dict) and may_be(pipeline, "elements", list) and all(is_element(e) for e in pipeline.get("elements") or [])
        and all(pipeline.get(key) is None or is_number(pipeline[key]) for key in ("cpu_s", "peak_rss_bytes")))


def is_spread(told):
    """what a run that is spread over nodes tells besides; another one tells nothing of it"""
    return (may_be(told, "producers", list) and all(is_producer(p) for p in told.get("producers") or []) and may_be(told, "links", dict)
            and all(isinstance(link, dict) and all(is_number(link.get(key)) for key in OF_LINK) for link in (told.get("links") or {}).values())
            and may_be(told, "node", str) and may_be(told, "units", dict) and all(is_number(n) for n in (told.get("units") or {}).values()))


def is_stats(told):
    """the numbers of a run, as far as they are used here"""
    return (isinstance(told, dict) and all(is_number(told.get(key)) for key in NEEDED)
            and all(told.get(key) is None or is_number(told[key])
                    for key in ("cpu_s", "peak_rss_bytes", "wait_ratio", "transfer_wait_s", "cold_start_s", "steps"))
            and all(may_be(told, key, dict) for key in ("bottleneck", "skipped", "advice"))
            and may_be(told, "sha256", str) and may_be(told, "elements", list)
            and all(is_number(value) for value in (told.get("skipped") or {}).values())
            and all(is_element(e) for e in told.get("elements") or []) and is_spread(told))
