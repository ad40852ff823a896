"""What is asked of /metrics: the text format by its rules, and names by promtool's."""
import re
import shutil
import subprocess

SAMPLE = re.compile(r'([a-z_]+)(\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*\})? (-?[0-9.e+-]+|NaN|[+-]Inf)')


def parse(text):
    """{(name, labels): value}, by the rules of the text format: HELP and TYPE once and before the samples of a family, all of it
    together, no sample twice"""
    samples, family, seen = {}, None, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in seen, family
            seen.add(family)
        elif line.startswith("# TYPE "):
            assert line.split()[2] == family and line.split()[3] in ("counter", "gauge"), line
            assert (line.split()[3] == "counter") == family.endswith("_total"), line
        else:
            match = SAMPLE.fullmatch(line)
            assert match and match[1] == family, line
            key = (match[1], tuple(re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match[2] or "")))
            assert key not in samples, key
            samples[key] = float(match[3])
    return samples


# what `promtool check metrics` looks at: the words of a name
NO_UNITS = {"s", "sec", "secs", "ms", "us", "ns", "m", "min", "h", "d", "b", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "milliseconds", "microseconds",
            "nanoseconds", "minutes", "hours", "days", "bits", "kilobytes", "megabytes", "gigabytes", "percent"}
NO_TYPES = {"counter", "gauge", "summary", "histogram", "untyped"}


def lint(families):
    """complaints, as promtool would have them"""
    for family in families:
        for name in {sample.name for sample in family.samples}:
            words = name.split("_")
            if not family.documentation.endswith("."):
                yield f"{name}: no help"
            if (family.type == "counter") != (words[-1] == "total"):
                yield f"{name}: _total is for counters"
            if family.type not in ("counter", "gauge") or words[-1] in ("sum", "count", "bucket"):
                yield f"{name}: {family.type}"
            if not re.fullmatch("headrace(_[a-z]+)+", name) or NO_TYPES.intersection(words) or NO_UNITS.intersection(words):
                yield f"{name}: a word in it"
            if any(unit in words and words[-1 - (words[-1] == "total")] != unit for unit in ("seconds", "bytes")):
                yield f"{name}: the unit is not at its end"


def check(text):
    """parse(text), once it is what Prometheus' own reader finds, and there is nothing to complain of"""
    from prometheus_client.parser import text_string_to_metric_families  # where it is not, parse() is there

    samples, families = parse(text), list(text_string_to_metric_families(text))
    read = {(sample.name, tuple(sample.labels.items())): sample.value for family in families for sample in family.samples}
    assert read == samples, (read, samples)
    assert not list(lint(families)), list(lint(families))
    if shutil.which("promtool"):
        subprocess.run(["promtool", "check", "metrics"], input=text, text=True, check=True, timeout=60)
    return samples
