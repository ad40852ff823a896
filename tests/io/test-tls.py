#!/usr/bin/env python3
"""Certificates: the bundle that AWS_CA_BUNDLE or the profile names is believed, and nothing else.

usage: test-tls.py HR_LAUNCH
"""
import http.server
import os
import pathlib
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import traceback

HR_LAUNCH = sys.argv[1]
BODY = b'{"line": 1}\n{"line": 2}\n'


class Bucket(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):  # pylint: disable=invalid-name
        known = self.path == "/demo/a.jsonl"
        self.send_response(200 if known else 404)
        self.send_header("ETag", '"e"')
        self.send_header("Content-Length", str(len(BODY) if known else 0))
        self.end_headers()
        if known and self.command == "GET":
            self.wfile.write(BODY)

    do_HEAD = do_GET

    def log_message(self, *args):
        pass


def openssl(folder, *args):
    subprocess.run(["openssl", *args], cwd=folder, check=True, capture_output=True)


def make_certificates(folder):
    """two authorities, and a certificate of the first for 127.0.0.1 alone"""
    for name in ("ca", "stranger"):
        openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", f"/CN={name}", "-days", "2", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
            "/CN=server", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", "2", "-extfile", "names", "-out", "server.pem")


class Fixture:
    def __init__(self, folder):
        self.folder = folder
        make_certificates(folder)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Bucket)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def launch(self, host="127.0.0.1", **environment):
        ours = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}
        return subprocess.run(
            [HR_LAUNCH, f"s3src location=s3://demo/a.jsonl endpoint=https://{host}:{self.port} addressing=path ! fakesink"],
            env={**ours, "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "HOME": str(self.folder), **environment},
            capture_output=True, text=True, timeout=60, check=False)

    def check_refused(self, **arguments):
        done = self.launch(**arguments)
        assert done.returncode == 1, done
        assert "s3://demo/a.jsonl" in done.stderr and "tries" not in done.stderr, done.stderr
        assert "certificate" in done.stderr or "SSL" in done.stderr, done.stderr


def test_bundle(fixture):
    """AWS_CA_BUNDLE is believed"""
    done = fixture.launch(AWS_CA_BUNDLE=str(fixture.folder / "ca.pem"))
    assert done.returncode == 0, done.stderr


def test_profile(fixture):
    """so is the profile's ca_bundle"""
    config = fixture.folder / "config"
    config.write_text(f"[default]\nca_bundle = {fixture.folder}/ca.pem\n")
    done = fixture.launch(AWS_CONFIG_FILE=str(config))
    assert done.returncode == 0, done.stderr


def test_unknown(fixture):
    """an authority that nobody named is refused, at the first try"""
    fixture.check_refused()


def test_stranger(fixture):
    """a bundle without the server's authority does not help"""
    fixture.check_refused(AWS_CA_BUNDLE=str(fixture.folder / "stranger.pem"))


def test_name(fixture):
    """a certificate for another name is refused"""
    fixture.check_refused(host="localhost", AWS_CA_BUNDLE=str(fixture.folder / "ca.pem"))


def test_no_file(fixture):
    """a bundle that is not there is told by its name"""
    done = fixture.launch(AWS_CA_BUNDLE="/nonexistent/ca.pem")
    assert done.returncode == 1 and "/nonexistent/ca.pem" in done.stderr, done


def main():
    tests = [f for n, f in globals().items() if n.startswith("test_")]
    if not shutil.which("openssl"):
        print("1..0 # SKIP no openssl to make certificates with")
        return
    print(f"1..{len(tests)}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(pathlib.Path(folder))
        for i, test in enumerate(tests, 1):
            try:
                test(fixture)
                print(f"ok {i} {test.__doc__}", flush=True)
            except Exception:  # a failed test is a line of TAP, whatever it was
                print("# " + traceback.format_exc().replace("\n", "\n# "))
                print(f"not ok {i} {test.__doc__}", flush=True)


main()
