"""The photographs of the demo's data set, and records of one image each."""
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def find_files(n, python):
    """every JPEG of the data set, or about @n of them; @python, with Pillow, makes it"""
    data = ROOT / "build/demo/s3/demo/train"
    if not (data / "manifest.json").exists():
        photos = ROOT / "build/demo/photos"
        data.mkdir(parents=True, exist_ok=True)
        subprocess.run([ROOT / "demo/photos", photos], check=True)
        subprocess.run([python, ROOT / "demo/make-dataset.py", photos, data], check=True,
                       stdout=subprocess.DEVNULL)
    files = sorted(str(path) for path in data.glob("images/*/*.jpg"))
    return files[:: max(1, len(files) // n)][:n] if n else files


def find_upright(n):
    """as find_files(), of those that are stored upright: not everybody turns images; with this process's Pillow"""
    from PIL import Image
    files = []
    for file in find_files(0, sys.executable):
        with Image.open(file) as image:
            if image.getexif().get(0x112, 1) == 1:
                files.append(file)
    return files[:: max(1, len(files) // n)][:n]


def write_records(path, files):
    with open(path, "w", encoding="utf-8") as out:
        for file in files:
            out.write(json.dumps({"messages": [
                {"role": "user", "content": [{"type": "image", "image": file}]},
                {"role": "assistant", "content": "An image."}]}) + "\n")
