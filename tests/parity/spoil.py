"""Stands between hr-verify and its Python: hands on what it reads, with the lowest bit of one number changed.

SPOIL_PYTHON: the real one; SPOIL_FIELD: of which field; SPOIL_LINE: of the sample of which line."""
import json
import os
import subprocess
import sys

SIZES = {"int64": 8, "int32": 4, "uint8": 1, "float32": 4, "bfloat16": 2}
program = subprocess.Popen([os.environ["SPOIL_PYTHON"], *sys.argv[1:]], stdin=subprocess.PIPE)
for line in sys.stdin.buffer:
    program.stdin.write(line)
    (name, value), = json.loads(line).items()
    for tensor in value["tensors"] if name == "sample" else []:
        count = 1
        for side in tensor["shape"]:
            count *= side
        data = bytearray(sys.stdin.buffer.read(count * SIZES[tensor["dtype"]]))
        if tensor["name"] == os.environ["SPOIL_FIELD"] and value["line"] == int(os.environ["SPOIL_LINE"]):
            data[count // 2 * SIZES[tensor["dtype"]]] ^= 1
        program.stdin.write(data)
program.stdin.close()
sys.exit(program.wait())
