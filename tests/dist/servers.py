"""Local servers in the place of GitHub, PyPI and npm, for a release that is published by a test."""

import base64
import email
import email.policy
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


class Server:
    """Serves what was published: the files of releases as GitHub does, with the part of its API that mise uses and the
    names of tags, wheels as PyPI does, packages as npm's registry does, and the site. `root` is the folder of the files."""

    def __init__(self, root):
        self.root = Path(root)
        for name in ("releases", "wheels", "npm"):
            (self.root / name).mkdir(parents=True)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, code, body=b"", kind="application/octet-stream"):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do_GET(self):
                found = outer.get(unquote(self.path.partition("?")[0]))
                self.answer(*((200, *found) if found else (404,)))

            do_HEAD = do_GET

            def do_POST(self):
                outer.receive_wheel(self.headers["Content-Type"], self.body())
                self.answer(200)

            def do_PUT(self):
                outer.receive_package(json.loads(self.body()))
                self.answer(201, b"{}", "application/json")

            def body(self):
                return self.rfile.read(int(self.headers["Content-Length"]))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.address = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, path):
        """Returns the content of a path and its type, or `None`."""
        if found := re.fullmatch(r"/project/khorovod/releases/download/v[^/]+/([^/]+)", path):
            return self.file("releases", found[1])
        if found := re.fullmatch(r"/project/khorovod/(info/refs|HEAD)", path):
            return self.file("git", found[1])
        if re.fullmatch(r"/api/repos/project/khorovod/releases(/tags/v0.1.0|/latest)?", path):
            return self.described_release(single=path.count("/") > 5), "application/json"
        if path == "/simple/khorovod/":
            links = "".join(f'<a href="/wheels/{wheel.name}">{wheel.name}</a>' for wheel in (self.root / "wheels").iterdir())
            return f"<!doctype html>{links}".encode(), "text/html"
        if found := re.fullmatch(r"/wheels/([^/]+)", path):
            return self.file("wheels", found[1])
        if found := re.fullmatch(r"/npm/([^/]+)(/-/[^/]+)?", path):
            return self.file("npm", f"{found[1]}.{'tgz' if found[2] else 'json'}")
        return self.file("site", path.lstrip("/")) if ".." not in path else None

    def file(self, *path):
        file = self.root.joinpath(*path)
        return (file.read_bytes(), "application/octet-stream") if file.is_file() else None

    def described_release(self, single):
        """Returns the answer of GitHub's API about the release."""
        base = f"{self.address}/project/khorovod/releases/download/v0.1.0"
        assets = [
            {"name": file.name, "browser_download_url": f"{base}/{file.name}", "url": f"{base}/{file.name}", "size": file.stat().st_size}
            for file in sorted((self.root / "releases").iterdir())
        ]
        release = {"tag_name": "v0.1.0", "name": "v0.1.0", "draft": False, "prerelease": False, "assets": assets}
        release["created_at"] = release["published_at"] = "2026-01-01T00:00:00Z"
        return json.dumps(release if single else [release]).encode()

    def receive_repository(self, source):
        """Stores the names of the tags of a repository, for `git ls-remote`."""
        subprocess.run(["git", "clone", "--quiet", "--bare", source, self.root / "git"], check=True)
        subprocess.run(["git", "-C", self.root / "git", "update-server-info"], check=True)

    def receive_wheel(self, kind, body):
        """Stores a wheel that was uploaded as to PyPI."""
        form = email.message_from_bytes(f"Content-Type: {kind}\r\n\r\n".encode() + body, policy=email.policy.HTTP)
        for part in form.iter_parts():
            if name := part.get_filename():
                (self.root / "wheels" / Path(name).name).write_bytes(part.get_payload(decode=True))

    def receive_package(self, document):
        """Stores a package that was published as to npm's registry."""
        name = document["name"]
        ((_, attachment),) = document.pop("_attachments").items()
        (self.root / "npm" / f"{name}.tgz").write_bytes(base64.b64decode(attachment["data"]))
        for version in document["versions"].values():
            version["dist"]["tarball"] = f"{self.address}/npm/{name}/-/{name}-{version['version']}.tgz"
        (self.root / "npm" / f"{name}.json").write_text(json.dumps(document))
