"""s3.py download|upload: copies the job's S3 volumes in before training and out after it.

Objects come in ranges, several at once; what is whole is not fetched again, so a container that
starts anew goes on where it was. Every range is bound to the object's ETag, every file checked by
its size, and by its MD5 where the ETag is one. Needs Python alone.
"""
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import json
import os
import re
import sys
import time
import urllib.parse
import xml.etree.ElementTree

PART = 64 << 20
TRIES = 6
STATE = ".khorovod-s3"


class Refused(Exception):
    """An answer that trying again does not change."""


class Bucket:
    def __init__(self, volume):
        self.endpoint = urllib.parse.urlsplit(volume["endpoint"])
        self.base = urllib.parse.quote(f"{self.endpoint.path}/{volume['bucket']}")
        self.region = volume["region"]
        self.keys = None
        if volume["signed"]:
            folder = f"/etc/khorovod/s3/{volume['name']}/"
            self.keys = [secret(folder + name) for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")]
            self.session = secret(folder + "AWS_SESSION_TOKEN", optional=True)

    def headers(self, method, path, query, digest):
        """Signature version 4."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": self.endpoint.netloc, "x-amz-content-sha256": digest, "x-amz-date": now}
        if not self.keys:
            return headers
        if self.session:
            headers["x-amz-security-token"] = self.session
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join([method, path, query, lines, names, digest])
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = b"AWS4" + self.keys[1].encode()
        for word in scope.split("/"):
            key = hmac.digest(key, word.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.keys[0]}/{scope}, SignedHeaders={names}, Signature={signature}"
        )
        return headers

    def call(self, method, key="", query=None, body=None, take=None, size=None, digest=None, **extra):
        """One request, tried again while that may help; gives what `take` makes of the answer."""
        path = self.base + ("/" + urllib.parse.quote(key, safe="/-_.~") if key else "")
        query = "&".join(f"{quote(name)}={quote(value)}" for name, value in sorted((query or {}).items()))
        digest = digest or hashlib.sha256(b"").hexdigest()
        secure = self.endpoint.scheme == "https"
        for tried in range(TRIES):
            connection = (http.client.HTTPSConnection if secure else http.client.HTTPConnection)(
                self.endpoint.netloc, timeout=60
            )
            try:
                headers = {**self.headers(method, path, query, digest), **extra}
                if size is not None:
                    headers["content-length"] = str(size)
                connection.request(method, path + (query and "?" + query), body and body(), headers)
                answer = connection.getresponse()
                if answer.status < 300:
                    return take(answer) if take else answer.read()
                text = answer.read(2000).decode(errors="replace")
                why = f"{method} {path}: HTTP {answer.status} {' '.join(re.findall('<Code>(.*?)</Code>', text))}"
                if answer.status < 500 and answer.status not in (408, 429):
                    raise Refused(why)
            except (OSError, http.client.HTTPException) as error:
                why = f"{method} {path}: {error!r}"
            finally:
                connection.close()
            time.sleep(2**tried / 2)
        raise Refused(f"{why} (tried {TRIES} times)")

    def list(self, prefix):
        query = {"list-type": "2", "prefix": prefix}
        while True:
            page = xml.etree.ElementTree.fromstring(self.call("GET", query=query))
            for item in page.iterfind("{*}Contents"):
                yield item.findtext("{*}Key"), int(item.findtext("{*}Size")), item.findtext("{*}ETag")
            token = page.findtext("{*}NextContinuationToken")
            if not token:
                return
            query["continuation-token"] = token


def quote(text):
    return urllib.parse.quote(text, safe="-_.~")


def secret(path, optional=False):
    try:
        with open(path) as file:
            return file.read().strip()
    except FileNotFoundError:
        if optional:
            return None
        raise Refused(f"{path} is missing") from None


def say(text):
    print("khorovod:", text, file=sys.stderr, flush=True)


def download(volume, pool):
    bucket, prefix, root = Bucket(volume), volume["prefix"], os.path.realpath(volume["path"])
    journal = os.path.join(root, STATE)
    done = set()
    if os.path.exists(journal):
        with open(journal) as file:
            done = set(file.read().splitlines())
    files = []
    for key, size, etag in bucket.list(prefix):
        path = os.path.realpath(os.path.join(root, key[len(prefix):]))
        if key.endswith("/"):
            continue
        if not path.startswith(root + os.sep):
            raise Refused(f"the key {key!r} leads out of {root}")
        files.append((key, size, etag, path))
    say(f"{volume['name']}: {len(files)} objects, {sum(file[1] for file in files)} bytes")

    with open(journal, "a") as notes:

        def note(*words):
            notes.write(json.dumps(words) + "\n")
            notes.flush()

        def part(key, etag, path, start, end):
            mark = json.dumps((key, etag, start))
            if mark in done:
                return

            def take(answer):
                with open(path, "r+b") as file:
                    file.seek(start)
                    left = end - start
                    while left and (data := answer.read(min(left, 1 << 20))):
                        file.write(data)
                        left -= len(data)
                if left:
                    raise OSError(f"{left} bytes short")

            bucket.call("GET", key, take=take, **{"range": f"bytes={start}-{end - 1}", "if-match": etag})
            note(key, etag, start)

        waiting = []
        for key, size, etag, path in files:
            if json.dumps((key, etag)) in done:
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path + ".part", "ab") as file:
                file.truncate(size)
            starts = range(0, size, PART)
            parts = [pool.submit(part, key, etag, path + ".part", at, min(at + PART, size)) for at in starts]
            waiting.append((key, size, etag, path, parts))
        for key, size, etag, path, parts in waiting:
            for each in parts:
                each.result()
            check(key, size, etag, path + ".part")
            os.replace(path + ".part", path)
            note(key, etag)
    say(f"{volume['name']}: complete in {root}")


def check(key, size, etag, path):
    if os.path.getsize(path) != size:
        raise Refused(f"{key}: {os.path.getsize(path)} bytes came, not {size}")
    md5 = etag.strip('"')
    # An object that was uploaded in parts or is encrypted by a key service has another kind of ETag.
    if re.fullmatch("[0-9a-f]{32}", md5) and digest(path, "md5") not in (md5,):
        say(f"{key}: its ETag is no MD5 of it; its size is right")


def digest(path, kind):
    hashed = hashlib.new(kind)
    with open(path, "rb") as file:
        while data := file.read(1 << 20):
            hashed.update(data)
    return hashed.hexdigest()


def upload(volume, pool):
    bucket, root = Bucket(volume), volume["path"]
    there = {key: (size, etag.strip('"')) for key, size, etag in bucket.list(volume["prefix"])}

    def send(path):
        key = volume["prefix"] + os.path.relpath(path, root)
        size = os.path.getsize(path)
        if there.get(key) == (size, digest(path, "md5")):
            return 0
        bucket.call("PUT", key, body=lambda: open(path, "rb"), size=size, digest=digest(path, "sha256"))
        return 1

    paths = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name != STATE]
    sent = sum(pool.map(send, paths))
    say(f"{volume['name']}: {sent} of {len(paths)} files were new and went out")


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3.json")) as file:
        volumes = json.load(file)
    verb = sys.argv[1]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for volume in volumes:
            if volume[verb]:
                {"download": download, "upload": upload}[verb](volume, pool)


if __name__ == "__main__":
    try:
        main()
    except (Refused, OSError) as error:
        sys.exit(f"khorovod: s3: {error}")
