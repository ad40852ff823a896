"""Records and images, read from where headrace read them, but not by it."""
import base64
import os
import posixpath
import urllib.parse
import urllib.request


class Media:
    def __init__(self, settings):
        self.settings, self.clients = settings, {}

    def client(self, factory):
        """of S3, with the properties of that element"""
        if factory not in self.clients:
            try:
                import botocore.config
                import botocore.session
                import botocore
            except ImportError:
                raise SystemExit("hr-verify parity: objects in S3 are read with botocore: pip install botocore") from None
            properties = self.settings.find(factory) or {}
            session = botocore.session.Session(profile=properties.get("profile"))
            endpoint = properties.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
            options = {"s3": {"addressing_style": {"virtual": "virtual", "path": "path"}.get(
                properties.get("addressing"), "path" if endpoint else "auto")}}
            if properties.get("no-sign-request"):
                options["signature_version"] = botocore.UNSIGNED
            region = properties.get("region") or session.get_config_variable("region") or "us-east-1"
            self.clients[factory] = session.create_client("s3", endpoint_url=endpoint, region_name=region,
                                                          config=botocore.config.Config(**options))
        return self.clients[factory]

    def read(self, uri, factory, byte=None, length=None):
        if uri.startswith("s3://"):
            bucket, _, key = uri[5:].partition("/")
            part = {} if byte is None else {"Range": f"bytes={byte}-{byte + length - 1}"}
            return self.client(factory).get_object(Bucket=bucket, Key=key, **part)["Body"].read()
        if uri.startswith(("http://", "https://")):
            with urllib.request.urlopen(uri, timeout=60) as answer:
                return answer.read()
        if uri.startswith("file://"):
            uri = uri[len("file://"):].removeprefix("localhost")
        with open(uri, "rb") as file:
            if byte is None:
                return file.read()
            file.seek(byte)
            return file.read(length)

    def read_line(self, origin):
        source = self.settings.elements[0]["factory"]
        line = self.read(origin["uri"], source, origin["byte"], origin["length"])
        if len(line) != origin["length"]:
            raise ValueError(f"{origin['uri']} holds {len(line)} bytes from byte {origin['byte']} on, "
                             f"not {origin['length']}: has it changed?")
        return line

    def folder(self, uri):
        base = self.settings.get("jsonlparse", "media-base")
        if base is None:
            base = posixpath.dirname(uri)
        if "://" not in base:
            base = os.path.abspath(base)
        return base.rstrip("/")

    def resolve(self, link, uri):
        if "://" in link or link.startswith("/"):
            return link
        scheme, slashes, rest = self.folder(uri).rpartition("://")
        # names, not URLs: nothing is decoded
        return scheme + slashes + posixpath.normpath(posixpath.join(rest or "/", link))

    def read_image(self, ref, uri):
        """ref: as the record has it"""
        if isinstance(ref, dict):
            data = ref.get("bytes") if ref.get("bytes") is not None else ref.get("base64")
            link = ref.get("path") if ref.get("path") is not None else ref.get("url")
            if data is not None and not data[:5].lower() == "data:":
                return base64.b64decode(data)
            ref = data if data is not None and (link is None or data[:5].lower() == "data:") else link
        if ref[:5].lower() == "data:":
            head, _, body = ref.partition(",")
            return base64.b64decode(body) if head.lower().endswith(";base64") else urllib.parse.unquote_to_bytes(body)
        return self.read(self.resolve(ref, uri), "imagefetch")
