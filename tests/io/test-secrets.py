#!/usr/bin/env python3
"""No secret is ever printed: everything that hr-launch writes, at its most talkative, while all goes well and while it does not.

usage: test-secrets.py HR_LAUNCH

The servers here repeat in their complaints what they were sent.
"""
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import traceback
import urllib.parse

HR_LAUNCH = sys.argv[1]
SECRETS = re.compile(r"CANARY|Signature=[0-9a-fA-F]{8}|AWS4-HMAC")
PNG = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415478da63f8cfc0000003010100f7034143"
                    "0000000049454e44ae426082")


class Services(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    mode = "good"
    lines = b""

    def log_message(self, *arguments):
        pass

    def answer(self, body, status=200, **headers):
        body = body.encode() if isinstance(body, str) else body
        first, last = 0, len(body) - 1
        if "Range" in self.headers and status == 200 and body:
            first, last = (int(part) for part in self.headers["Range"].split("=")[1].split("-"))
            headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
            status = 206
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[first:last + 1])

    def complain(self, code, sent=""):
        """with all that was sent"""
        words = f"{self.headers.get('Authorization')} {self.headers.get('X-Amz-Security-Token')} {sent} {self.path}"
        words = words.replace("&", "&amp;")
        words = words + "\n" + words
        if code == "AccessDenied" and self.command != "POST":
            # of a secret at the end of what is shown, half would be left
            words = "x" * (400 - len("HTTP 403 AccessDenied: CANARY-t")) + self.headers["X-Amz-Security-Token"]
        self.answer(f"<Error><Code>{code}</Code><Message>{words}</Message></Error>" if self.command != "POST" else
                    f"<ErrorResponse><Error><Code>{code}</Code><Message>{words}</Message></Error></ErrorResponse>", 403)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/keys":
            self.answer(json.dumps({"AccessKeyId": "KEY", "SecretAccessKey": "CANARY-container-secret",
                                    "Token": "CANARY-container-token", "Expiration": "2099-01-01T00:00:00Z"}))
        elif path.startswith("/link"):
            self.answer(PNG if path == "/link/good" else "", 200 if path == "/link/good" else 403, ETag='"p"')
        elif Services.mode != "good":
            self.complain(Services.mode)
        else:
            self.answer(Services.lines, ETag='"' + hashlib.md5(Services.lines).hexdigest() + '"')

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.complain("AccessDenied", dict(urllib.parse.parse_qsl(sent)).get("WebIdentityToken", ""))

    def do_CONNECT(self):
        self.answer("", 407)


def link(url, name, tail=""):
    return (f"{url}/link/{name}?X-Amz-Algorithm=AWS4&X-Amz-Credential=CANARY%2F1&X-Amz-Security-Token=CANARY-link"
            f"&X-Amz-Signature=CANARY{tail}")


def record(*links):
    return json.dumps({"images": links, "conversations": [
        {"from": "human", "value": "<image>" * len(links) + "what?"}, {"from": "gpt", "value": "that"}]}) + "\n"


class Fixture:
    def __init__(self, folder):
        self.folder = folder
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Services.lines = (record(link(self.url, "good")) + record(link(self.url, "gone"))
                          + record(link(self.url, "good", "&x=y"))).encode()
        (folder / "token").write_text("CANARY-web-token")
        (folder / "config").write_text(
            "[profile process]\ncredential_process = echo CANARY-no-json\n"
            "[profile half]\ncredential_process = echo '{\"Version\":1,\"SecretAccessKey\":\"CANARY\",\"SessionToken\":\"CANARY\"}'\n"
            "[profile role]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = keys\n"
            "[profile keys]\naws_access_key_id = KEY\naws_secret_access_key = CANARY-file-secret\n"
            "aws_session_token = CANARY-file-token\n"
            "[profile web]\nrole_arn = arn:aws:iam::1:role/x\n"
            f"web_identity_token_file = {folder}/token\n"
            "[profile broken]\naws_access_key_id = KEY\naws_secret_access_key = CANARY-x\naws_session_token = CANARY \x01 token\n")
        self.number = 0

    def check(self, name, status, words, mode="good", links="http", **environment):
        """one run: its exit status, words that it must say, and none that it must not"""
        self.number += 1
        out = self.folder / f"{self.number}"
        out.mkdir()
        Services.mode = mode
        text = (f"s3src location=s3://demo/a.jsonl tries=2 endpoint={self.url} ! jsonlparse ! "
                f"imagefetch allow-links={links} allow-addresses=all tries=2 ! imagedecode ! npysink location={out}/npy")
        text = text.replace("allow-links= ", "")
        arguments = [HR_LAUNCH, "-v", "--stats=json", "--progress=lines", "--on-error=skip", f"--dot={out}/dot",
                     f"--checkpoint={out}/checkpoint", "--checkpoint-every=1", "--checksum"]
        help_text = subprocess.run([HR_LAUNCH, "--help"], capture_output=True, text=True, check=True).stdout
        for option, file in (("--dead-letter", "dead"), ("--trace", "trace")):
            if option in help_text:
                arguments.append(f"{option}={out}/{file}")
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "HR_DEBUG": "*:5", "HR_PLAN_CACHE": "",
                       "HR_PLUGIN_PATH": os.environ.get("HR_PLUGIN_PATH", ""), "AWS_EC2_METADATA_DISABLED": "true",
                       "AWS_CONFIG_FILE": f"{self.folder}/config", "AWS_ENDPOINT_URL_STS": self.url,
                       # and what sanitizers are told
                       **{name: value for name, value in os.environ.items() if name.startswith(("ASAN_", "LSAN_", "TSAN_", "G_SLICE"))},
                       **environment}
        done = subprocess.run([*arguments, text], env=environment, capture_output=True, timeout=60, check=False)
        (out / "stdout").write_bytes(done.stdout)
        (out / "stderr").write_bytes(done.stderr)
        said = (done.stdout + done.stderr).decode(errors="replace")
        assert done.returncode == status, (done.returncode, said)
        assert words in said, (words, said)
        n_files = 0
        for file in out.rglob("*"):
            if file.is_file():
                n_files += 1
                found = SECRETS.search(file.read_bytes().decode("latin-1"))
                assert not found, (str(file), found.group(), file.read_bytes()[:6000])
        assert n_files >= 3, n_files
        if status in (0, 3):
            assert len(list(out.glob("npy/*.json"))) == 2 and (out / "checkpoint").exists() and (out / "dot").exists()
        print(f"ok {self.number} {name}", flush=True)

    def check_property(self, name):
        """what is printed, drawn and recorded of a pipeline, as it is and when something is wrong in it"""
        self.number += 1
        out = self.folder / f"{self.number}"
        out.mkdir()
        text = f"filesrc location={self.folder}/config ! jsonlparse ! tokenize tries=1 tokenizer={link(self.url, 'gone')} ! "
        (self.folder / "plain").write_text(record())
        user = self.url.replace("http://", "http://me:CANARY@")
        for arguments, status, words in (
                (["--print", text + "fakesink"], 0, "/link/gone?X-Amz-Algorithm=AWS4&X-Amz-Credential=…"),
                (["-v", text + "fakesink"], 1, "X-Amz-Signature=…: HTTP 403"),
                (["-v", "--stats=json", f"--dot={out}/dot", f"--record={out}/record", f"--checkpoint={out}/checkpoint",
                  f"filesrc location={self.folder}/plain ! jsonlparse ! imagefetch allow-links={link(user, 'x')} ! fakesink"],
                 0, "X-Amz-Signature=… !"),
                ([text + "imagedecode ! fakesink"], 2, "this fits"),
                ([text + "fakesink silent=" + link(user, "x")], 2, 'for "silent"'),
                (["filesrc location=" + user + " ! jsonlparse ! fakesink"], 1, "No such file"),
                (["s3src location=" + user + " ! jsonlparse ! fakesink"], 2, "is no S3 location"),
                (["s3src location=s3://me:CANARY@b/ ! jsonlparse ! fakesink"], 2, "is no bucket name"),
                (["s3src location=s3://b/ endpoint=" + user + " ! jsonlparse ! fakesink"], 2, "is no endpoint")):
            done = subprocess.run([HR_LAUNCH, *arguments], env={**os.environ, "HR_DEBUG": "*:5"}, capture_output=True,
                                  timeout=60, check=False)
            said = (done.stdout + done.stderr).decode()
            assert done.returncode == status, (arguments, done.returncode, said)
            assert words in said, (arguments, words, said)
            assert "CANARY" not in said, (arguments, said)
        assert len(list(out.iterdir())) == 3, list(out.iterdir())
        for file in out.iterdir():
            assert "CANARY" not in file.read_text(), file
        print(f"ok {self.number} {name}", flush=True)


def run(fixture):
    keys = {"AWS_ACCESS_KEY_ID": "KEY", "AWS_SECRET_ACCESS_KEY": "CANARY-secret", "AWS_SESSION_TOKEN": "CANARY-token"}
    container = {"AWS_CONTAINER_CREDENTIALS_FULL_URI": fixture.url + "/keys", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "CANARY-auth"}
    gone = "/link/gone?X-Amz-Algorithm=AWS4&X-Amz-Credential=…&X-Amz-Security-Token=…&X-Amz-Signature=…"
    fixture.check("keys of the environment, good links and one bad", 3, gone, **keys)
    fixture.check("keys of a container", 3, gone, **container)
    fixture.check("a server that repeats what it was sent", 1, "SignatureDoesNotMatch", mode="SignatureDoesNotMatch", **keys)
    fixture.check("a token at the end of what is shown", 1, "AccessDenied: xxx", mode="AccessDenied", **keys)
    fixture.check("what is repeated of keys that have expired", 1, "ExpiredToken", mode="ExpiredToken", **container)
    fixture.check("the token service repeats it", 1, "STS AssumeRole of", AWS_PROFILE="role")
    fixture.check("the token service repeats a token", 1, "STS AssumeRoleWithWebIdentity of", AWS_PROFILE="web")
    fixture.check("a program that prints no JSON", 1, "is no JSON object", AWS_PROFILE="process")
    fixture.check("a program that prints half", 1, "no \"AccessKeyId\"", AWS_PROFILE="half")
    fixture.check("a token that is none", 1, "the session token holds", AWS_PROFILE="broken")
    fixture.check("half a pair", 1, "AWS_SECRET_ACCESS_KEY is not", AWS_ACCESS_KEY_ID="KEY", AWS_SESSION_TOKEN="CANARY")
    fixture.check_property("a presigned link in a property")
    print(f"1..{fixture.number}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(Fixture(pathlib.Path(folder)))
        except Exception:  # whatever it is, it is a failure, and the rest of the output should be seen
            traceback.print_exc(file=sys.stdout)
            print("not ok 100\n1..100")
            sys.exit(1)


main()
