#!/usr/bin/env python3
"""What a rank asks for and lets come, over a cluster that is made up: what would stand in the stores is counted exactly.

Times are some milliseconds; the limits of lateness are made as small.
"""
import random
import threading
import time
import types
import unittest
import unittest.mock
import weakref

import ray
import tap
from headrace.ray import SpreadResourceError, lateness, puller, room, tries
from headrace.ray.directory import Entry
from headrace.ray.puller import Puller
from headrace.ray.spec import Spec
from headrace.ray.suspects import Suspects
from headrace.ray.team import Team
from headrace.ray.unit import Unit

HERE = "n0"  # the rank's node
N = 120
TICK = 0.0005
NEVER = 1e9
LINGER = 0.01  # what has been made and nobody refers to


class Reference:
    """As Ray's: who has it keeps the object."""


class Token:
    """Arrays that stand in the store of this node: who has them keeps the copy there."""


class Object:
    def __init__(self, node, unit, made_at, way_s, fails=None):
        self.node, self.unit, self.made_at, self.way_s, self.fails = node, unit, made_at, way_s, fails
        self.referred, self.pinned, self.began, self.for_nobody = True, False, None, False

    def copies(self, now):
        """Ray frees what nobody refers to at once; and what is made for nobody has to be made first."""
        if now < self.made_at or self.fails:
            return 0
        away = self.node != HERE
        seen = self.referred or (self.for_nobody and now < self.made_at + LINGER)
        return (1 if seen and away else 0) + (1 if (self.began is not None or not away) and (seen or self.pinned) else 0)

    def is_here(self, now):
        return now >= self.made_at and (self.node == HERE or self.fails or
                                        (self.began is not None and now >= max(self.began, self.made_at) + self.way_s))


class FakeRay:
    """The part of Ray that a Puller calls, with stores that can be looked at exactly."""

    exceptions = ray.exceptions

    def __init__(self):
        self.objects, self.known, self.lock = [], weakref.WeakKeyDictionary(), threading.RLock()
        self.most = self.most_coming = 0
        self.watching = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()

    def finish(self):
        self.watching.set()
        self.thread.join()

    def watch(self):
        while not self.watching.wait(TICK):
            self.count()

    def count(self):
        with self.lock:
            now = time.monotonic()
            self.objects = [one for one in self.objects if one.referred or one.pinned or (one.for_nobody and now < one.made_at + LINGER)]
            self.most = max(self.most, sum(one.copies(now) for one in self.objects))
            self.most_coming = max(self.most_coming, sum(one.began is not None and not one.is_here(now) for one in self.objects))

    def make(self, *what, **how):
        reference = Reference()
        with self.lock:
            self.known[reference] = one = Object(*what, **how)
            self.objects.append(one)
            weakref.finalize(reference, self.drop, one)
        return reference

    def drop(self, one):
        self.count()
        one.referred, one.for_nobody = False, time.monotonic() < one.made_at
        one.began = one.began if one.pinned else None

    def let_go(self, one):
        self.count()
        one.pinned = False

    def wait(self, references, *, num_returns=1, timeout, fetch_local):
        until = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            with self.lock:
                if fetch_local:
                    for reference in references:
                        one = self.known[reference]
                        one.began = now if one.began is None else one.began
                done = [reference for reference in references if
                        (self.known[reference].is_here(now) if fetch_local else now >= self.known[reference].made_at)]
            if len(done) >= num_returns or now >= until:
                self.count()
                done = done[:num_returns]
                return done, [reference for reference in references if reference not in done]
            time.sleep(TICK)

    def get(self, reference):
        one = self.known[reference]
        if one.fails:
            raise one.fails("gone", None)
        one.pinned = True
        token = Token()
        weakref.finalize(token, self.let_go, one)
        return {"node": one.node, "ip": one.node, "run": "run", "fixed": {}, "nbytes": 1, "made_s": 0.0, "fields": token}


class Producer:
    """Makes two at a time; `takes (unit)` says how long one takes to be made and to come, and what is raised."""

    def __init__(self, fake, node, takes):
        self.fake, self.node, self.takes, self.free = fake, node, takes, [0.0, 0.0]
        self.produce = types.SimpleNamespace(remote=self.ask)

    def ask(self, _epoch, part, _with_document):
        made_s, way_s, *fails = self.takes(part)
        at = self.free.index(min(self.free))
        self.free[at] = max(self.free[at], time.monotonic()) + made_s
        return self.fake.make(self.node, part, self.free[at], way_s, *fails)


class FakeTeam(Team):
    """Everybody is there from the beginning, but the last one where it `joins` after so many units; and stays."""

    def __init__(self, producers, joins=0):  # pylint: disable=super-init-not-called
        self._spec = Spec("", 1, False, "spread", len(producers), 1, 2, 1, "")
        self._rank, self._node, self.ip = 0, HERE, HERE
        self._entries = {i: Entry(i, producer, producer.node, producer.node) for i, producer in enumerate(producers)}
        self._nodes = {i: producer.node for i, producer in enumerate(producers)}
        self._down, self._dead, self.suspects = {}, set(), Suspects()
        self._joins, self._last = joins, self._entries.popitem() if joins else None

    def refresh(self):
        if self._last is not None and self._joins <= 0:
            self._entries[self._last[0]] = self._last[1]

    def saw(self, index, node):
        super().saw(index, node)
        self._joins -= 1


class Run:
    """A rank that goes through N units over such a cluster."""

    def __init__(self, nodes, takes, depth, step_s=0.002, n=N, forget=10.0, least=0.04, joins=0):
        fake = FakeRay()
        with unittest.mock.patch.object(puller, "ray", fake), unittest.mock.patch.object(lateness, "_LEAST", least), \
                unittest.mock.patch.object(lateness, "_LEAST_OF_FEW", least), \
                unittest.mock.patch.object(puller, "_SLICE", 0.01), unittest.mock.patch.object(puller, "_BRIEF", 0.002), \
                unittest.mock.patch.object(room, "_FORGET", forget):
            team = FakeTeam([Producer(fake, node, lambda part, i=i: takes(i, part)) for i, node in enumerate(nodes)], joins)
            self.warnings = []
            begin = time.monotonic()
            one = Puller(team, (Unit(0, part, 1) for part in range(n)), depth, None, self.warnings.append)
            try:
                self.parts, told = [], None
                while (taken := one.take()) is not None:
                    unit, told = taken
                    taken = None
                    self.parts.append(unit.slice)
                    time.sleep(step_s)
                self.took = time.monotonic() - begin
                del told
            finally:
                one.close()
                fake.finish()
        self.counts, self.links, self.peak, self.most = one.counts, one.links, one.peak, fake.most
        self.most_coming = fake.most_coming


def slow_ones(*parts):
    """Whether a part is one of these, once: early ones are late by the median of what came, however late that was by itself."""
    left = set(parts)

    def is_slow(part):
        found = part in left
        left.discard(part)
        return found
    return is_slow


class Pulls(unittest.TestCase):
    def check(self, run, depth, n=N):
        """All came, in order; the stores held what they may, and that was all that the puller counts."""
        self.assertEqual(run.parts, list(range(n)))
        print(f"# depth {depth}: at most {run.most} copies, counted {run.peak}; {dict(run.counts)}", flush=True)
        self.assertLessEqual(run.most, run.peak)
        self.assertLessEqual(run.peak, depth + 1)

    def test_far(self):
        """all producers are on other nodes, and some units take long: asked for twice or not, the bound holds"""
        for depth in (4, 5, 8, 13):
            chance = random.Random(depth)
            run = Run(["n1", "n2", "n3", "n3"], lambda _, part, chance=chance, slow=slow_ones(9, 12): (
                0.3 if slow(part) or chance.random() < 0.04 else chance.uniform(0.001, 0.012), chance.uniform(0.0005, 0.006)), depth)
            self.check(run, depth)
            self.assertGreater(run.counts["hedged"], 0)
            self.assertGreaterEqual(run.peak, depth)

    def test_ways(self):
        """ways of some units take long: another one takes over, and there are still no more copies than allowed"""
        for depth in (4, 8):
            chance = random.Random(depth)
            run = Run(["n1", "n2", "n3"], lambda _, part, chance=chance, slow=slow_ones(9, 12): (
                chance.uniform(0.001, 0.008), 0.4 if slow(part) or chance.random() < 0.05 else chance.uniform(0.001, 0.008)), depth)
            self.check(run, depth)
            self.assertGreater(run.counts["hedge_won"], 0)

    def test_mixed(self):
        """some producers are on the rank's own node"""
        for depth in (4, 6, 8):
            chance = random.Random(depth)
            run = Run(["n0", "n1", "n0", "n2"], lambda _, __, chance=chance: (
                0.3 if chance.random() < 0.04 else chance.uniform(0.001, 0.008), chance.uniform(0.0005, 0.006)), depth)
            self.check(run, depth)

    def test_beside(self):
        """all are on the rank's own node: nothing is there twice, so all places are of use"""
        run = Run(["n0"], lambda *_: (0.002, NEVER), 6, step_s=0.02, n=30)
        self.check(run, 6, n=30)
        self.assertEqual((run.most, run.peak), (6, 6))

    def test_two_ahead(self):
        """what comes next comes while the one before it is still on its way"""
        run = Run(["n1", "n2"], lambda *_: (0.001, 0.03), 10, step_s=0.0, n=20)
        self.check(run, 10, n=20)
        self.assertEqual(run.most_coming, 2)
        # two at once share the time: together it is not more than has passed
        self.assertLessEqual(sum(link.pulled_s for link in run.links.values()), run.took)

    def test_start(self):
        """a producer that joins, and takes long to start, is not late, nor is what it was asked for meanwhile"""
        starts = [[], [2.5, 2.5]]  # two are in work at once

        def takes(index, _part):
            return starts[index].pop() if starts[index] else 0.02, 0.001
        run = Run(["n1", "n2"], takes, 16, n=60, least=1.0, joins=20)
        self.check(run, 16, n=60)
        self.assertEqual(starts[1], [])
        self.assertEqual(run.counts["hedged"], 0)

    def test_pick(self):
        """who has not made yet what is not waited for any longer is asked last"""
        team = FakeTeam([Producer(None, "n1", None) for _ in range(3)])
        turn = [team.pick(Unit(0, part, 1)).index for part in range(3)]
        self.assertEqual(sorted(turn), [0, 1, 2])
        self.assertNotIn(1, [team.pick(Unit(0, part, 1), behind=frozenset({1})).index for part in range(3)])
        self.assertEqual(team.pick(Unit(0, 0, 1), beside=frozenset({0, 2}), behind=frozenset({1})).index, 1)

    def test_hangs(self):
        """a producer never makes anything from its 10th unit on: it is asked no more, and its places are given back"""
        asked = [0]

        def takes(index, _part):
            asked[0] += index == 1
            return (NEVER if index == 1 and asked[0] >= 10 else 0.004), 0.002
        # on one node of several, and on the only one there is, which is never suspected
        for depth, nodes, forget in ((4, ["n1", "n2", "n3"], 0.2), (8, ["n1", "n2", "n3"], 0.2), (8, ["n1", "n1", "n1"], 20)):
            asked[0] = 0
            run = Run(nodes, takes, depth, forget=forget)
            self.check(run, depth)
            self.assertGreater(run.counts["hedged"] + run.counts["reissued"], 0)
            self.assertLess(asked[0], 10 + 2 * depth)

    def test_cut(self):
        """from one node nothing comes any more"""
        begin = time.monotonic()
        run = Run(["n1", "n2", "n3"], lambda index, _: (0.004, NEVER if index == 2 and time.monotonic() - begin > 0.2 else 0.003), 8)
        self.check(run, 8)
        self.assertGreater(run.counts["suspected"], 0)
        self.assertIn("node n3 is suspected: others are asked", run.warnings)

    def test_own_link(self):
        """everything comes slowly after a while: no node is to blame"""
        begin = time.monotonic()
        run = Run(["n1", "n2", "n3"], lambda *_: (0.002, 0.25 if time.monotonic() - begin > 0.1 else 0.003), 8, n=40)
        self.check(run, 8, n=40)
        self.assertEqual(run.counts["suspected"], 0)

    def test_lost(self):
        """a producer is gone for a moment: what it had not made is asked for again"""
        gone = ray.exceptions.ActorUnavailableError
        chance = random.Random(1)
        run = Run(["n1", "n2", "n3"], lambda *_: (0.002, 0.002, gone) if chance.random() < 0.1 else (0.002, 0.002), 8, n=60)
        self.check(run, 8, n=60)
        self.assertGreater(run.counts["lost"], 0)
        self.assertEqual(run.counts["reissued"], run.counts["lost"])
        self.assertEqual(sum(" is lost, and asked for again: " in text for text in run.warnings), run.counts["lost"])


    def test_hopeless(self):
        """who is lost each time is asked for again, after a rest that grows, and not for ever"""
        rests = []

        def rest(self, seconds):
            if seconds not in (0.01, 0.002):  # for want of anything to do
                rests.append(seconds)
        with unittest.mock.patch.object(Puller, "_rest", rest), unittest.mock.patch.object(tries, "_MOST_LOST", 9), \
                self.assertRaises(SpreadResourceError) as caught:
            Run(["n1"], lambda *_: (0.001, 0.001, ray.exceptions.ActorUnavailableError), 4, n=1)
        self.assertEqual(rests, [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0, 2.0, 2.0])
        self.assertRegex(str(caught.exception), "^epoch 0, step 0, rank 0: lost 10 times, with its producers: .*gone")
        self.assertNotIn("\n", str(caught.exception))


class Places(unittest.TestCase):
    """The arithmetic of the room, by hand."""

    @staticmethod
    def ask(shelf, local=False, pending=None):
        pending = pending or room.Pending(Unit(0, 0, 1))
        if not shelf.may_ask(pending, local):
            return None
        pending.attempts.append(room.Attempt(0, object(), local, since=0.0))
        if pending not in shelf.queue:
            shelf.queue.append(pending)
        shelf.note()
        return pending

    @staticmethod
    def come(shelf, pending):
        attempt = pending.attempts[-1]
        attempt.made_at = 1.0
        if not shelf.may_come(pending, attempt):
            return False
        attempt.let_at = 1.0
        shelf.note()
        return True

    def test_far(self):
        """depth 6: the first and its way, the second and its way, one for the trainer to come, and a third"""
        shelf = room.Room(6)
        units = [self.ask(shelf) for _ in range(5)]
        self.assertEqual([unit is not None for unit in units], [True] * 3 + [False] * 2)
        self.assertTrue(self.come(shelf, units[0]) and self.come(shelf, units[1]))
        self.assertEqual(shelf.used, 5)
        self.assertIsNone(self.ask(shelf), "the trainer's place is kept")
        shelf.arrive(2)
        self.assertEqual((shelf.used, self.ask(shelf)), (5, None))
        shelf.hand_over()
        self.assertEqual((shelf.held, shelf.arrived, shelf.used), (2, 0, 5))
        self.assertIsNone(self.ask(shelf), "the place of the second one's way is kept")
        self.assertTrue(self.come(shelf, units[2]))
        self.assertIsNone(self.ask(shelf))
        shelf.arrive(2)
        self.assertEqual(shelf.used, 6)
        shelf.hand_over()  # lets go of two
        self.assertEqual(shelf.used, 4)
        fourth = self.ask(shelf)
        self.assertIsNotNone(fourth)
        self.assertTrue(self.come(shelf, fourth))
        self.assertEqual((shelf.used, shelf.peak), (6, 6))

    def test_here(self):
        """depth 4 beside the rank: one place is kept for the trainer until it has its first"""
        shelf = room.Room(4)
        units = [self.ask(shelf, local=True) for _ in range(4)]
        self.assertEqual([unit is not None for unit in units], [True] * 3 + [False])
        self.assertTrue(self.come(shelf, units[0]) and self.come(shelf, units[1]))
        self.assertEqual(shelf.used, 3)
        shelf.arrive(1)
        shelf.hand_over()
        self.assertIsNotNone(self.ask(shelf, local=True))
        self.assertIsNone(self.ask(shelf, local=True))
        self.assertEqual(shelf.used, 4)

    def test_hedge(self):
        """the first has a place beyond depth, the others have not; what was given up keeps its place until it is made"""
        shelf = room.Room(4)
        head = self.ask(shelf)
        self.come(shelf, head)
        shelf.arrive(2)
        shelf.hand_over()
        head = self.ask(shelf)
        self.assertEqual((shelf.used, self.ask(shelf)), (3, None))
        self.assertIsNotNone(self.ask(shelf, pending=head))
        self.assertIsNone(self.ask(shelf, pending=head), "one, not two")
        self.assertTrue(self.come(shelf, head))
        self.assertEqual((shelf.used, shelf.peak), (5, 5))
        other = head.attempts[0]
        shelf.give_up(other, now=0.0)
        shelf.arrive(2)
        self.assertEqual(shelf.used, 5)
        shelf.hand_over()
        self.assertEqual(shelf.used, 3)
        head = self.ask(shelf)
        self.assertIsNone(self.ask(shelf, pending=head))
        other.made_at = 1.0
        shelf.clear(now=1.0)
        self.assertEqual(shelf.used, 3)
        self.assertIsNotNone(self.ask(shelf, pending=head))

    def test_beyond(self):
        """the place beyond depth is for what the trainer waits for, not for what comes behind what has arrived"""
        shelf = room.Room(4)
        shelf.held, shelf.arrived = 1, 2
        self.assertIsNone(self.ask(shelf))
        shelf.arrived, shelf.held = 0, 3
        self.assertIsNotNone(self.ask(shelf))

    def test_forgotten(self):
        """what hangs does not keep a place for ever; what has been made takes none once it is given up"""
        shelf = room.Room(4)
        made, hangs = room.Attempt(0, None, False, 0.0), room.Attempt(1, None, False, 0.0)
        made.made_at = 1.0
        shelf.give_up(made, now=0.0)
        shelf.give_up(hangs, now=0.0)
        self.assertEqual(shelf.used, 1)
        shelf.clear(now=9.0)
        self.assertEqual(shelf.used, 1)
        shelf.clear(now=11.0)
        self.assertEqual(shelf.used, 0)


class Failed(unittest.TestCase):
    def check(self, n, take, expected):
        """The error comes where units were still to come, and only there."""
        fake = FakeRay()
        with unittest.mock.patch.object(puller, "ray", fake):
            one = Puller(FakeTeam([Producer(fake, HERE, lambda _: (0.0, 0.0))]), (Unit(0, part, 1) for part in range(n)), 4, None)
            try:
                for _ in range(take):
                    self.assertIsNotNone(one.take())
                while one._arrived is None and not one._ended:
                    time.sleep(TICK)
                one.fail(SpreadResourceError("gone"))
                if expected:
                    for _ in range(2):
                        self.assertRaisesRegex(SpreadResourceError, "gone", one.take)
                else:
                    self.assertIsNone(one.take())
            finally:
                one.close()
                fake.finish()

    def test_midway(self):
        """who is failed from outside gets that error, and not what had arrived"""
        self.check(5, 2, expected=True)

    def test_last(self):
        """also where only the last one had not been taken"""
        self.check(3, 2, expected=True)

    def test_behind(self):
        """behind the last one there is nothing to fail"""
        self.check(3, 3, expected=False)


tap.main()
