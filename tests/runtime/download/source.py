#!/usr/bin/env python3
"""source.py FOLDER ADDRESS PORT [OPTION...]: a stub of the Hugging Face Hub and of a file server, which logs each request.

FOLDER/files/NAME is served at /NAME, and FOLDER/hub/ORG/NAME as the repository ORG/NAME at each revision: files above 100 kB as LFS
files, whose address redirects to another host. Options: `no-ranges`; `no-redirects`; `token=T`, without which it answers 401; `rate=N`, bytes per
second of all answers together; `cut=N`, after which each answer breaks off; `wrong=NAME`, a file of which a byte is wrong; `etag=E`; `rename=NAME`,
the path of each file in the list.
"""
import hashlib
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

folder, address, port, *options = sys.argv[1:]
options = dict(option.partition("=")[::2] for option in options)
rate, cut = int(options.get("rate", 0)), int(options.get("cut", 0))
turn = threading.Lock()
log = open(os.path.join(folder, "requests"), "a", buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        path = urllib.parse.unquote(path)
        log.write(f"{self.headers['host']} {path} {self.headers.get('range', '-')} {self.headers.get('authorization', '-')}\n")
        is_other_host = self.headers["host"].startswith("localhost")
        if is_other_host and self.headers.get("authorization"):
            return self.reply(400, b"only one way to authenticate is allowed")
        if options.get("token") and not is_other_host and self.headers.get("authorization") != f"Bearer {options['token']}":
            return self.reply(401, b"")
        listing = re.fullmatch("/api/models/([^/]+/[^/]+)/tree/([^/]+)", path)
        if listing:
            return self.list(os.path.join(folder, "hub", listing[1]), query)
        resolved = re.fullmatch("/([^/]+/[^/]+)/resolve/[^/]+/(.+)", path)
        if resolved:
            place = os.path.join(folder, "hub", resolved[1], resolved[2])
            if os.path.getsize(place) > 100000 and not is_other_host and "no-redirects" not in options:
                return self.reply(302, b"", {"Location": f"http://localhost:{port}{self.path}?signature=secret"})
        else:
            place = os.path.join(folder, "files" + path)
        if not os.path.isfile(place):
            return self.reply(404, b"")
        self.send_file(place)

    def list(self, place, query):
        if not os.path.isdir(place):
            return self.reply(404, b"")
        names = sorted(os.path.relpath(os.path.join(at, name), place) for at, _, names in os.walk(place) for name in names)
        entries = [{"type": "directory", "path": "deep", "oid": "0" * 40, "size": 0}]
        for name in names:
            with open(os.path.join(place, name), "rb") as file:
                data = file.read()
            entry = {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()}
            if len(data) > 100000:
                entry["oid"] = hashlib.sha1(data).hexdigest()
                entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134}
            entry["path"] = options.get("rename", name)
            entries.append(entry)
        # Two pages.
        is_second = "cursor" in query
        link = {} if is_second else {"Link": f'<http://{self.headers["host"]}{self.path}&cursor=x>; rel="next"'}
        self.reply(200, json.dumps(entries[2:] if is_second else entries[:2]).encode(), link)

    def send_file(self, place):
        headers = {"ETag": f'"{options["etag"]}"'} if "etag" in options else {}
        size = os.path.getsize(place)
        found = re.fullmatch("bytes=([0-9]+)-([0-9]+)", self.headers.get("range") or "")
        if "no-ranges" in options:
            found = None
        start, end = (int(found[1]), min(int(found[2]) + 1, size)) if found else (0, size)
        if found and start >= size:
            return self.reply(416, b"", {"Content-Range": f"bytes */{size}"})
        with open(place, "rb") as file:
            file.seek(start)
            data = bytearray(file.read(end - start))
        middle = size // 2 - start
        if options.get("wrong") == os.path.basename(place) and 0 <= middle < len(data):
            data[middle] ^= 1
        headers.update({"Content-Range": f"bytes {start}-{end - 1}/{size}"} if found else {})
        self.reply(206 if found else 200, data, headers)

    def reply(self, status, data, headers=()):
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        for at in range(0, len(data), 65536):
            if cut and at >= cut:
                self.close_connection = True
                return
            piece = data[at:at + 65536]
            if rate:
                with turn:
                    time.sleep(len(piece) / rate)
            try:
                self.wfile.write(piece)
            except OSError:
                self.close_connection = True
                return

    def log_message(self, *_):
        pass


http.server.ThreadingHTTPServer.request_queue_size = 64
http.server.ThreadingHTTPServer((address, int(port)), Handler).serve_forever()
