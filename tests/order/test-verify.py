#!/usr/bin/env python3
"""hr-verify resume: says that what is exact is exact, and finds each fault that is planted into the core.

usage: test-verify.py HR_VERIFY HR_VERIFY_THAT_CAN_BREAK_RULES CASES IMAGE
"""
import os
import pathlib
import re
import subprocess
import sys

import tokenizer
from runner import Data, main, record

HR_VERIFY, HR_VERIFY_RULES, CASES, IMAGE = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]).resolve(), pathlib.Path(sys.argv[4])
PLUGINS = str(pathlib.Path(HR_VERIFY).resolve().parent.parent / "plugins")
SHARDS = CASES / "20-resume-shards-worlds"


def verify(*words, program=HR_VERIFY, rule="", status=0):
    done = subprocess.run([program, "resume", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                          env={**os.environ, "HR_PLAN_CACHE": "", "HR_WRONG_RULE": rule, "HR_PLUGIN_PATH": PLUGINS})
    assert done.returncode == status, f"exit status {done.returncode}, not {status}\n{words}\n{done.stdout}{done.stderr}"
    return done.stdout if status != 2 and not done.stderr else done.stderr


def pipeline(source="shuffle=window block-bytes=500 window-blocks=2 epochs=2", size=8, batch="", behind=""):
    return (f"on-error=skip filesrc location={SHARDS}/ {source} ! jsonlparse ! {behind}batch size={size} {batch} ! "
            f"prefetchqueue max-batches=3 ! fakesink")


def test_exact():
    """what is exact: each shuffle, epochs, holes, images and tokens, with and without batches"""
    for source in ("", "shuffle=full seed=2 epochs=2", "shuffle=window block-bytes=500 window-blocks=2 epochs=2"):
        out = verify(pipeline(source), "--stops", "6")
        assert re.fullmatch(r"exact: \d+ steps, 3 cuts by a stop, 3 by SIGKILL\n", out), out
    verify(pipeline("epochs=2", batch="drop-last=true", size=12, behind="identity error-every=5 ! "), "--worlds=1,2,3,6", "--stops=9")
    verify(f"on-error=skip filesrc location={SHARDS}/ ! jsonlparse ! identity error-every=5 ! fakesink", "--stops=6")
    data = Data()
    data.add("a.jsonl", b"".join(b'{"id":"%d","image":"i.png","conversations":[{"from":"human","value":"<image>Say %d"},'
                                 b'{"from":"gpt","value":"it"}]}\n' % (i, i) for i in range(13)))
    (data.folder / "i.png").write_bytes(IMAGE.read_bytes())
    tokenizer.write(data.folder / "tokenizer.json")
    verify(f"filesrc location={data.folder} shuffle=full ! jsonlparse ! imagefetch ! tokenize tokenizer={data.folder}/tokenizer.json "
           "max-pixels=65536 ! imagedecode ! resize ! batch mode=padded size=4 ! prefetchqueue ! patchify ! fakesink", "--stops=4")
    # packed rows are cut inside blocks; the members of a mix have orders of their own
    verify(f"filesrc location={SHARDS}/ shuffle=full epochs=2 ! jsonlparse ! tokenize tokenizer={data.folder}/tokenizer.json ! "
           "batch mode=packed pack-window=20 max-tokens=300 ! prefetchqueue ! fakesink", "--stops=12")
    verify(f"world=2 epochs=0 filesrc location={SHARDS}/ ! jsonlparse ! tokenize tokenizer={data.folder}/tokenizer.json ! "
           "batch mode=packed pack-window=20 max-tokens=300 ! prefetchqueue ! fakesink", "--stops=6", "--steps=20")
    verify(f"mix name=m epochs=2 shuffle=full ! jsonlparse ! batch size=4 ! prefetchqueue ! fakesink sync-every=5 filesrc location={SHARDS}/ "
           f"weight=2 ! m. filesrc location={CASES}/19-resume-one-shard/ ! m.", "--stops=6")
    # … and numbered rows of a mix go on with any number of ranks
    for pattern in ("even", "random"):
        verify(f"scan=lengths mix name=m epochs=2 shuffle=full pattern={pattern} ! jsonlparse ! tokenize tokenizer={data.folder}/tokenizer.json ! "
               "batch mode=packed pack-window=20 max-tokens=300 ! prefetchqueue ! fakesink "
               f"filesrc location={SHARDS}/ weight=2 ! m. filesrc location={CASES}/19-resume-one-shard/ repeat=false ! m.",
               "--worlds=1,2,3", "--stops=6")
    data.remove()


def test_planted():
    """a cursor off by one, a hole that shifts, a start that is ignored: each is found, and where"""
    holes = pipeline(behind="identity error-every=5 ! ")
    assert verify(holes, "--stops=6", program=HR_VERIFY_RULES).startswith("exact")
    for rule in ("cursor", "survivors", "no-start"):
        out = verify(holes, "--stops=6", program=HR_VERIFY_RULES, rule=rule, status=1)
        assert re.match(r"not exact: step \d+, cut by .* behind step \d+ of rank \d of \d with \d workers, gone on as rank", out), out
        assert re.search(r"\n  is     epoch \d, content .*byte \d+.*\n  not    ", out), out


def test_planted_in_rows():
    """… of numbered rows as well, for every number of ranks"""
    data = Data()
    tokenizer.write(data.folder / "tokenizer.json")
    text = (f"scan=lengths filesrc location={SHARDS}/ shuffle=full epochs=2 ! jsonlparse ! tokenize tokenizer={data.folder}/tokenizer.json ! "
            "batch mode=packed pack-window=20 max-tokens=300 ! prefetchqueue ! fakesink")
    assert verify(text, "--stops=4", "--worlds=1,3", program=HR_VERIFY_RULES).startswith("exact")
    out = verify(text, "--stops=4", "--worlds=1,3", program=HR_VERIFY_RULES, rule="cursor", status=1)
    assert re.match(r"not exact: step \d+, cut by .* gone on as rank", out), out
    data.remove()


def test_usage():
    """what cannot be checked says why"""
    assert "3 ranks cannot share a step of 8 samples" in verify(pipeline(), "--worlds=3", status=2)
    packed = f"world=2 epochs=0 steps=9 filesrc location={SHARDS}/ ! jsonlparse ! tokenize tokenizer=t.json ! batch mode=packed max-tokens=300 ! fakesink"
    assert "with scan=lengths they are for any number" in verify(packed, "--worlds=1", status=2)
    assert "no list of numbers" in verify(pipeline(), "--workers=a", status=2)
    assert "neither a number from 1 on" in verify(pipeline(), "--stops=0", status=2)
    assert "no pipeline" in verify(status=2)
    assert "only a pipeline with one" in verify("filesrc location=x ! tee name=t ! fakesink t. ! fakesink", status=2)
    assert "gets its buffers from a program" in verify("appsrc ! fakesink", status=2)
    assert "gives its samples to a program" in verify("fakesrc num-buffers=9 ! appmap ! fakesink", status=2)
    assert "no order that is known beforehand" in verify("fakesrc num-buffers=9 ! fakesink", status=1)
    assert "nothing.jsonl" in verify("filesrc location=/nothing.jsonl ! jsonlparse ! fakesink", status=1)


def test_first_steps():
    """--steps looks at so many only, so that an order without end can be checked"""
    out = verify(pipeline("shuffle=full epochs=0"), "--steps=20", "--stops=3")
    assert out.startswith("exact: 20 steps"), out
    for endless in (pipeline("epochs=0"), "epochs=0 " + pipeline(),
                    f"mix name=m epochs=0 ! jsonlparse ! fakesink filesrc location={SHARDS}/ ! m."):
        assert "--steps=N" in verify(endless, status=2), endless
    data = Data()
    data.add("a.jsonl", record("only"))
    assert verify(f"filesrc location={data.folder} ! jsonlparse ! batch size=2 ! fakesink", "--stops=all").startswith("exact: 1 steps")
    data.add("a.jsonl", b"")
    assert verify(f"filesrc location={data.folder} ! jsonlparse ! batch size=2 ! fakesink").startswith("exact: 0 steps")
    data.remove()


if __name__ == "__main__":
    sys.exit(main([t for n, t in list(globals().items()) if n.startswith("test_")]))
