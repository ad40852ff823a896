#!/usr/bin/env python3
"""Credentials that we find, and those that botocore finds, in many small environments: the same keys, from the same place.

usage: check-credentials.py S3-WHO [NUMBER], with the Python of tools/venv

One server plays the security token service, the instance metadata service and the container's. The key of a role tells
all that was asked for, and by whom; what is signed is checked.
"""
import datetime
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import botocore.auth
import botocore.awsrequest
import botocore.credentials
import botocore.exceptions
import botocore.loaders
import botocore.session

METHODS = {"environment": "env", "credentials file": "shared-credentials-file", "config file": "config-file",
           "assumed role": "assume-role", "web identity": "assume-role-with-web-identity",
           "credential_process": "custom-process", "container": "container-role", "instance metadata": "iam-role"}
EXPIRES = "2099-01-02T03:04:05Z"
REGION = "eu-west-3"


def secret_of(access_key):
    return "secret/of+" + access_key


def is_signed(handler, body):
    """by the key that Authorization names? And for which region"""
    header = handler.headers["Authorization"]
    access_key, date, region, service, _ = header.split("Credential=")[1].split(",")[0].rsplit("/", 4)
    names = header.split("SignedHeaders=")[1].split(",")[0].split(";")
    request = botocore.awsrequest.AWSRequest(
        method="POST", url="http://" + handler.headers["Host"] + handler.path, data=body,
        headers={name: handler.headers[name] for name in names if name not in ("host", "x-amz-date")})
    now = datetime.datetime.strptime(handler.headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ")
    request.context["timestamp"] = handler.headers["X-Amz-Date"]
    request.headers["X-Amz-Date"] = handler.headers["X-Amz-Date"]
    auth = botocore.auth.SigV4Auth(botocore.credentials.Credentials(access_key, secret_of(access_key)), service, region)
    canonical = auth.canonical_request(request)
    signature = auth.signature(auth.string_to_sign(request, canonical), request)
    assert date == now.strftime("%Y%m%d") and service == "sts"
    return access_key, region, signature == header.split("Signature=")[1]


class Services(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults = []

    def log_message(self, *arguments):
        pass

    def answer(self, text, status=200):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer_keys(self, access_key, **more):
        self.answer(json.dumps({"AccessKeyId": access_key, "SecretAccessKey": secret_of(access_key), "Token": "t/" + access_key,
                                "Expiration": EXPIRES, **more}))

    def do_PUT(self):
        good = self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds") == "21600"
        self.answer("imds-token" if good else "", 200 if good else 400)

    def do_GET(self):
        roles = "/latest/meta-data/iam/security-credentials/"
        if self.path.startswith("/latest/") and self.headers.get("X-aws-ec2-metadata-token") != "imds-token":
            self.answer("", 401)
        elif self.path == roles:
            self.answer("the-role")
        elif self.path == roles + "the-role":
            self.answer_keys("INSTANCE", Code="Success")
        elif self.path.startswith("/container"):
            self.answer_keys("CONTAINER-" + self.headers.get("Authorization", "open"))
        else:
            self.answer("", 404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = dict(urllib.parse.parse_qsl(body, keep_blank_values=True, strict_parsing=True))
        action, name = form.pop("Action"), form.pop("RoleSessionName")
        parts = [form.pop("RoleArn").rsplit("/", 1)[1]]
        form.pop("Version")
        if not name.startswith(("botocore-session-", "headrace-")):
            parts.append("n=" + name)
        parts += [f"{key[:3]}={urllib.parse.quote(form[key])}" for key in sorted(form)]
        if action == "AssumeRole":
            access_key, region, good = is_signed(self, body)
            parts += [region, "by(" + access_key + ")"]
            if not good:
                Services.faults.append(f"a signature of {access_key} is wrong: {self.headers['Authorization']}")
        elif self.headers["Authorization"]:
            Services.faults.append(f"{action} is signed")
        access_key = ":".join(parts)
        self.answer(f'<{action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{action}Result><AssumedRoleUser>'
                    f"<Arn>arn:aws:sts::123456789012:assumed-role/r/s</Arn><AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser>"
                    f"<Credentials><AccessKeyId>{access_key}</AccessKeyId><SecretAccessKey>{secret_of(access_key)}"
                    f"</SecretAccessKey><SessionToken>t/{access_key}</SessionToken><Expiration>{EXPIRES}</Expiration>"
                    f"</Credentials></{action}Result></{action}Response>")


def maybe(rng, chance):
    return rng.random() < chance


def make_profile(rng, number, names, folder):
    """the settings of one profile, in both files"""
    config, shared = {}, {}
    for settings, where in ((shared, "S"), (config, "C")):
        if maybe(rng, 0.2):
            settings["aws_access_key_id"] = f"{where}{number}"
            settings["aws_secret_access_key"] = secret_of(f"{where}{number}")
            if maybe(rng, 0.05):
                del settings[rng.choice(["aws_access_key_id", "aws_secret_access_key"])]
            if maybe(rng, 0.3):
                settings[rng.choice(["aws_session_token", "aws_security_token"])] = f"tok{number}=="
    if maybe(rng, 0.45):
        config["role_arn"] = f"arn:aws:iam::123456789012:role/R{number}"
        if maybe(rng, 0.75):
            config["source_profile"] = rng.choice(names * 3 + ["absent"])
        if maybe(rng, 0.2) and ("source_profile" not in config or maybe(rng, 0.2)):
            config["credential_source"] = rng.choice(["Environment", "EcsContainer", "Ec2InstanceMetadata", "Moon"])
        if maybe(rng, 0.3):
            config["external_id"] = f"ext {number}/é=+"
        if maybe(rng, 0.3):
            config["duration_seconds"] = rng.choice(["900", "43200", "an hour"])
        if maybe(rng, 0.3):
            config["role_session_name"] = f"name{number}@x"
    if maybe(rng, 0.12):
        config["web_identity_token_file"] = folder + "/token"
        if maybe(rng, 0.6):
            config.setdefault("role_arn", f"arn:aws:iam::123456789012:role/W{number}")
    if maybe(rng, 0.2):
        keys = {"Version": 1, "AccessKeyId": f"P{number}", "SecretAccessKey": secret_of(f"P{number}"), "Expiration": EXPIRES}
        keys["Version"] = rng.choice([1] * 10 + [2, "1"])
        if maybe(rng, 0.1):
            del keys["SecretAccessKey"]
        if maybe(rng, 0.5):
            del keys["Expiration"]
        with open(f"{folder}/process {number}.json", "w", encoding="utf-8") as file:
            json.dump(keys, file)
        config["credential_process"] = rng.choice([f'cat "{folder}/process {number}.json"', "false",
                                                   f'cat "{folder}/process {number}.json"',
                                                   f"sh -c 'cat \"{folder}/process {number}.json\"'", "/nonexistent"])
    if maybe(rng, 0.05):
        config["sso_account_id"] = "123456789012"
        config["sso_start_url"] = "https://sso.test/start"
    return config, shared


def write_file(rng, path, sections, is_config):
    with open(path, "w", encoding="utf-8") as file:
        for name, settings in sections.items():
            title = name if name == "default" or not is_config else "profile " + (f'"{name}"' if maybe(rng, 0.2) else name)
            file.write(f"# words\n[{title}]\n")
            for key, value in settings.items():
                key = key.upper() if maybe(rng, 0.05) else key
                file.write(f"{key}{rng.choice([' = ', '=', ': ', ' =  '])}{value}{rng.choice(['', '  '])}\n")
            file.write(rng.choice(["", "\n", "; more\n"]))


def make_case(rng, folder, url):
    names = ["default", "a", "b-2", "c"][:rng.randrange(1, 5)]
    config, shared = {}, {}
    for number, name in enumerate(names):
        in_config, in_shared = make_profile(rng, number, names, folder)
        if in_config or maybe(rng, 0.5):
            config[name] = in_config
        if in_shared:
            shared[name] = in_shared
    write_file(rng, folder + "/config", config, True)
    write_file(rng, folder + "/credentials", shared, False)
    environment = {"AWS_CONFIG_FILE": folder + "/config", "AWS_SHARED_CREDENTIALS_FILE": folder + "/credentials",
                   "AWS_ENDPOINT_URL_STS": url, "AWS_EC2_METADATA_SERVICE_ENDPOINT": url, "AWS_DEFAULT_REGION": REGION,
                   "HOME": folder, "PATH": os.environ["PATH"]}
    if maybe(rng, 0.2):
        environment.update(AWS_ACCESS_KEY_ID="ENV", AWS_SECRET_ACCESS_KEY=secret_of("ENV"))
        if maybe(rng, 0.3):
            environment[rng.choice(["AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN"])] = "envtok"
        if maybe(rng, 0.2):
            environment[rng.choice(["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])] = ""
        if maybe(rng, 0.2):
            environment["AWS_CREDENTIAL_EXPIRATION"] = rng.choice([EXPIRES, "2001-01-01T00:00:00Z", "soon"])
    for variable in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        if maybe(rng, 0.15):
            environment[variable] = rng.choice(names * 4 + ["absent"])
    if maybe(rng, 0.12):
        environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = folder + rng.choice(["/token", "/token", "/no-token"])
    if maybe(rng, 0.6 if "AWS_WEB_IDENTITY_TOKEN_FILE" in environment else 0.1):
        environment["AWS_ROLE_ARN"] = "arn:aws:iam::123456789012:role/ENVROLE"
    if maybe(rng, 0.1):
        environment["AWS_ROLE_SESSION_NAME"] = "from-env"
    if maybe(rng, 0.2):
        host = rng.choice(["http://127.0.0.1", "http://localhost", "http://127.0.0.1", "http://192.0.2.1"])
        environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = host + ":" + url.rsplit(":", 1)[1] + "/container?x=1"
        if maybe(rng, 0.4):
            environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "plain"
        if maybe(rng, 0.2):
            environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = folder + rng.choice(["/container-token", "/container-token", "/two-lines"])
    if maybe(rng, 0.3):
        environment["AWS_EC2_METADATA_DISABLED"] = rng.choice(["true", "True", "false", "1"])
    return environment, rng.choice([None, None, None] + names)


LOADER = botocore.loaders.Loader()


def ask_botocore(environment, profile):
    os.environ.clear()
    os.environ.update(environment)
    session = botocore.session.Session()
    session.register_component("data_loader", LOADER)
    if profile:
        session.set_config_variable("profile", profile)
    try:
        session.get_scoped_config()
        credentials = session.get_credentials()
        if credentials is None:
            return "none"
        keys = credentials.get_frozen_credentials()
    except Exception as error:  # whatever it raises means that it found none
        return f"{type(error).__name__}: {error}"
    return {"method": credentials.method, "access_key": keys.access_key, "secret_key": keys.secret_key, "token": keys.token}


def ask_us(who, environment, profile):
    # and what sanitizers are told
    told = {name: value for name, value in os.environ.items() if name.startswith(("ASAN_", "LSAN_", "TSAN_", "G_SLICE"))}
    done = subprocess.run([who, REGION] + ([profile] if profile else []), env={**told, **environment}, capture_output=True, text=True,
                          check=False, timeout=60)
    assert done.returncode == 0, f"{done.returncode}: {done.stderr}"
    found = json.loads(done.stdout)
    if found["error"]:
        assert "secret" not in found["error"].replace("the secret key is missing", "").replace(
            "AWS_SECRET_ACCESS_KEY", "").replace("SecretAccessKey", ""), found["error"]
        return found["error"]
    return {"method": METHODS[found["method"]], "access_key": found["access_key"], "secret_key": found["secret_key"],
            "token": found["token"]}


def main():
    who, number = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 300
    rng = random.Random(20260301)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Services)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    botocore.utils.ContainerMetadataFetcher.SLEEP_TIME = 0
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("token", "web-token"), ("container-token", "from-file"), ("two-lines", "a\r\nb: c")):
            with open(folder + "/" + name, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        for case in range(number):
            environment, profile = make_case(rng, folder, url)
            theirs, ours = ask_botocore(environment, profile), ask_us(who, environment, profile)
            kind = theirs["method"] if isinstance(theirs, dict) else "refused"
            counts[kind] = counts.get(kind, 0) + 1
            if isinstance(theirs, dict) or isinstance(ours, dict):
                if theirs != ours:
                    with open(folder + "/config", encoding="utf-8") as config, open(folder + "/credentials", encoding="utf-8") as shared:
                        files = config.read() + "-----\n" + shared.read()
                    sys.exit(f"case {case}: profile {profile}\n{json.dumps(environment, indent=1)}\n{files}\n"
                             f"botocore: {theirs}\nheadrace: {ours}")
    assert not Services.faults, Services.faults
    assert set(counts) == set(METHODS.values()) | {"refused"}, counts
    print("1..1")
    print(f"ok 1 {number} environments: the same keys from the same place: {counts}")


main()
