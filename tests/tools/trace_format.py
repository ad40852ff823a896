"""Reads a trace of a run and holds it against the rules of Chrome's Trace Event Format."""
import json

WAITS = {"waits for input", "waits for room", "waits for the trainer", "waits for memory", "waits for a processor", "waits outside"}
NOT_WORKED = {"waits for memory", "waits for a processor"}
COMMON = {"ph", "name", "pid", "tid", "ts", "args"}
# what each phase has, and may have, beside those
MEMBERS = {"M": (set(), set()), "X": ({"cat", "dur"}, set()), "C": (set(), set()), "i": ({"cat", "s"}, set()), "b": ({"cat", "id"}, set()),
           "e": ({"cat", "id"}, set()), "s": ({"cat", "id"}, set()), "t": ({"cat", "id"}, set()), "f": ({"cat", "id", "bp"}, set())}


class Slice:
    """a complete event, with those inside it"""

    def __init__(self, event):
        self.event, self.inside = event, []
        self.begin, self.end = event["ts"], event["ts"] + event["dur"]

    def __repr__(self):
        return json.dumps(self.event)

    @property
    def name(self):
        return self.event["name"]

    @property
    def category(self):
        return self.event["cat"]

    @property
    def args(self):
        return self.event.get("args", {})

    def every(self):
        yield self
        for slice_ in self.inside:
            yield from slice_.every()

    def worked(self, element):
        """microseconds that count as the element's work"""
        return self.end - self.begin - sum(s.lost(element) for s in self.inside)

    def lost(self, element):
        """of those of a slice around it"""
        if self.name in NOT_WORKED or (self.category in ("work", "member", "step") and owner(self) != element):
            return self.end - self.begin
        return sum(s.lost(element) for s in self.inside)


def owner(slice_):
    return slice_.args.get("element", slice_.name)


class Trace:
    """events in nanoseconds, each looked at; a rule that is broken is an AssertionError"""

    def __init__(self, text):
        self.events = json.loads(text)
        assert self.events and all(isinstance(e, dict) for e in self.events)
        for event in self.events:
            self.check_event(event)
        self.threads = self.read_threads()
        self.tracks = {tid: self.nest(tid) for tid in {e["tid"] for e in self.events if e["ph"] == "X"}}
        self.check_counters()
        self.tickets = self.read_tickets()
        self.flows = self.read_flows()

    @staticmethod
    def check_event(event):
        needed, allowed = MEMBERS[event["ph"]]
        assert (COMMON - {"args"}) | needed <= set(event) <= COMMON | needed | allowed, event
        assert isinstance(event["name"], str) and event["name"], event
        assert isinstance(event["pid"], int) and event["pid"] > 0 and isinstance(event["tid"], int) and event["tid"] >= 0, event
        assert event["ts"] >= 0 and event.get("dur", 0) >= 0, event
        assert isinstance(event.get("args", {}), dict), event
        assert event["ph"] != "i" or event["s"] in ("t", "p"), event
        assert event["ph"] != "C" or all(isinstance(v, int) for v in event["args"].values()) and len(event["args"]) == 1, event
        # in whole nanoseconds: as binary fractions of microseconds ends of slices would overlap
        event["ts"] = round(event["ts"] * 1000)
        if "dur" in event:
            event["dur"] = round(event["dur"] * 1000)

    def of(self, phase, name=None):
        return [e for e in self.events if e["ph"] == phase and name in (None, e["name"])]

    def read_threads(self):
        """{tid: name}: each thread has one name, and one place"""
        assert len({e["pid"] for e in self.events}) == 1
        assert [e["args"]["name"] for e in self.of("M", "process_name")] == ["headrace"]
        assert len(self.of("M", "process_labels")) == 1
        names = {e["tid"]: e["args"]["name"] for e in self.of("M", "thread_name")}
        places = {e["tid"]: e["args"]["sort_index"] for e in self.of("M", "thread_sort_index")}
        used = {e["tid"] for e in self.events if e["ph"] in "Xstf"}
        assert len(names) == len(self.of("M", "thread_name")) == len(set(names.values())), names
        assert set(names) == set(places) == used and len(set(places.values())) == len(places), (names, used)
        return names

    def nest(self, tid):
        """the outermost slices of a thread, in their order: each ends before the one around it, or before the next begins"""
        top, stack = [], []
        for event in sorted((e for e in self.events if e["ph"] == "X" and e["tid"] == tid), key=lambda e: (e["ts"], -e["dur"])):
            slice_ = Slice(event)
            while stack and stack[-1].end <= slice_.begin and not stack[-1].begin == slice_.begin == slice_.end:
                stack.pop()
            assert not stack or slice_.end <= stack[-1].end, (stack[-1], slice_)
            (stack[-1].inside if stack else top).append(slice_)
            stack.append(slice_)
        return top

    def slices(self, *categories):
        return [s for track in self.tracks.values() for top in track for s in top.every() if s.category in categories]

    def work_of(self, element):
        return [s for s in self.slices("work", "member", "step") if owner(s) == element]

    def check_counters(self):
        times = {}
        for event in self.of("C"):
            assert times.get(event["name"], -1) <= event["ts"], event
            times[event["name"]] = event["ts"]
        self.counters = set(times)

    def read_tickets(self):
        """[(begin, end)]: each id begins once and ends once, later"""
        open_ = {(e["name"], e["id"]): e for e in self.of("b")}
        ends = {(e["name"], e["id"]): e for e in self.of("e")}
        assert set(open_) == set(ends) and len(open_) == len(self.of("b")) == len(self.of("e"))
        assert all(open_[k]["ts"] <= ends[k]["ts"] for k in ends)
        return [(open_[k], ends[k]) for k in open_]

    def find(self, event):
        """the innermost slice that a flow's event lies in, not on its edge"""
        found, inside = None, self.tracks[event["tid"]]
        while inside:
            around = [s for s in inside if s.begin < event["ts"] < s.end]
            assert len(around) <= 1
            found, inside = (around[0], around[0].inside) if around else (found, [])
        assert found is not None, event
        return found

    def read_flows(self):
        """[(fetch, [work …], step)]: each begins in a fetch and ends in a step, and nothing goes back in time"""
        flows = {}
        for event in self.events:
            if event["ph"] in "stf":
                assert (event["cat"], event["name"]) == ("flow", "sample")
                flows.setdefault(event["id"], []).append(event)
        result = []
        for id_, events in flows.items():
            assert [e["ph"] for e in events] == ["s"] + ["t"] * (len(events) - 2) + ["f"], events
            assert [e["ts"] for e in events] == sorted(e["ts"] for e in events), events
            assert events[-1]["bp"] == "e"
            slices = [self.find(e) for e in events]
            assert slices[0].name == "fetch" and slices[0].args["sample"] == id_ // 64, (id_, slices[0])
            assert slices[-1].category == "step", slices[-1]
            assert all(s.category in ("work", "member") for s in slices[1:-1]), slices
            result.append((slices[0], slices[1:-1], slices[-1]))
        return result
