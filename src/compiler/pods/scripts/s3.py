"""s3.py download|upload: copies the job's S3 volumes in before training and out after it.

Objects come in ranges, several at once, and go out in parts; what got through does not go again, so
a container that starts anew goes on where it was. Every range is bound to the object's ETag, and every
file, either way, is checked by its size and the MD5s its ETag is made of. Needs Python alone.
"""
import concurrent.futures
import contextlib
import datetime
import fcntl
import hashlib
import hmac
import http.client
import json
import os
import re
import ssl
import sys
import threading
import time
import urllib.parse
import xml.etree.ElementTree

PART = 16 << 20  # of which eight are on the way: as much as a sudden end loses
TRIES = 6
JOURNAL = ".khorovod-s3"
UNFINISHED = ".khorovod-part"


class Refused(Exception):
    """What trying again does not change."""


class Bucket:
    def __init__(self, volume):
        self.endpoint = urllib.parse.urlsplit(volume["endpoint"])
        self.base = quote(f"{self.endpoint.path}/{volume['bucket']}", "/")
        self.region = volume["region"]
        self.keys = self.session = None
        if volume["signed"]:
            folder = f"/etc/khorovod/s3/{volume['name']}/AWS_"
            self.keys = [secret(folder + name) for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")]
            self.session = os.path.exists(folder + "SESSION_TOKEN") and secret(folder + "SESSION_TOKEN")

    def headers(self, method, path, query):
        """Signature version 4. Bodies need none: what arrived is checked by its ETag."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": self.endpoint.netloc, "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": now}
        if not self.keys:
            return headers
        if self.session:
            headers["x-amz-security-token"] = self.session
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join([method, path, query, lines, names, "UNSIGNED-PAYLOAD"])
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = b"AWS4" + self.keys[1].encode()
        for word in scope.split("/") + [text]:
            key = hmac.digest(key, word.encode(), "sha256")
        authorization = f"Credential={self.keys[0]}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        return {**headers, "authorization": "AWS4-HMAC-SHA256 " + authorization}

    def call(self, method, key="", query=(), body=bytes, size=0, take=lambda answer: answer.read(), **extra):
        """One request, tried again while that may help: the answer's headers, and what `take` makes of it."""
        path = self.base + ("/" + quote(key, "/") if key else "")
        query = "&".join(f"{quote(name)}={quote(str(value))}" for name, value in sorted(dict(query).items()))
        kind = http.client.HTTPSConnection if self.endpoint.scheme == "https" else http.client.HTTPConnection
        for tried in range(TRIES):
            time.sleep(2**tried / 4 if tried else 0)
            final = tried == TRIES - 1
            connection = kind(self.endpoint.netloc, timeout=60)
            try:
                headers = {**self.headers(method, path, query), "content-length": str(size), **extra}
                connection.request(method, path + (query and "?" + query), body(), headers)
                answer = connection.getresponse()
                if answer.status < 300:
                    return answer.headers, take(answer)
                code = re.findall("<Code>(.*?)</Code>", answer.read(2000).decode(errors="replace"))
                why = " ".join(["HTTP", str(answer.status), *code])
                final |= answer.status < 500 and answer.status not in (408, 429)
            except (OSError, http.client.HTTPException) as error:
                why = repr(error)
                final |= isinstance(error, ssl.SSLCertVerificationError)
            finally:
                connection.close()
            if final:
                raise Refused(f"{method} {self.endpoint.scheme}://{self.endpoint.netloc}{path}: {why}")

    def xml(self, *words, **more):
        headers, text = self.call(*words, **more)
        try:
            return headers, xml.etree.ElementTree.fromstring(text)
        except xml.etree.ElementTree.ParseError:
            raise Refused(f"{self.endpoint.netloc} gives no answer of S3's") from None

    def items(self, key, query, kind, marker, following):
        """All that a question lists, page after page."""
        more = True
        while more:
            _, page = self.xml("GET", key, query)
            yield from page.iterfind("{*}" + kind)
            more = page.findtext("{*}IsTruncated") == "true"
            query = {**query, marker: page.findtext("{*}" + following)}

    def list(self, prefix):
        query = {"list-type": "2", "prefix": prefix}
        for item in self.items("", query, "Contents", "continuation-token", "NextContinuationToken"):
            yield item.findtext("{*}Key"), int(item.findtext("{*}Size")), item.findtext("{*}ETag").strip('"')

    def begin(self, key):
        """An upload in parts, or one that broke off: its query, and the ETags of the parts that are there."""
        with contextlib.suppress(Refused):  # where listing is not allowed, all goes again
            for item in self.xml("GET", query={"uploads": "", "prefix": key})[1].iterfind("{*}Upload"):
                if item.findtext("{*}Key") == key:
                    query = {"uploadId": item.findtext("{*}UploadId")}
                    parts = self.items(key, query, "Part", "part-number-marker", "NextPartNumberMarker")
                    return query, {int(part.findtext("{*}PartNumber")): part.findtext("{*}ETag") for part in parts}
        return {"uploadId": self.xml("POST", key, {"uploads": ""})[1].findtext("{*}UploadId")}, {}

    def head(self, key, **query):
        try:
            return self.call("HEAD", key, query)[0]
        except Refused:
            return {}

    def holds(self, key, path, size, etag):
        """Whether the object is this file; none where its ETag does not tell."""
        found = re.fullmatch("[0-9a-f]{32}(?:-([0-9]+))?", etag)
        part = 0
        if found and found[1]:
            count = int(found[1])
            part, last = (int(self.head(key, partNumber=number).get("content-length", 0)) for number in (1, count))
            found = part and (count - 1) * part + last == size
        if not found:
            return None
        return etag_of(path, size, part) == etag or (None if opaque(self.head(key)) else False)


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def secret(path):
    try:
        with open(path) as file:
            text = file.read().strip()
    except FileNotFoundError:
        raise Refused(f"{path} is missing") from None
    if not re.fullmatch("[!-~]+", text):
        raise Refused(f"{path} holds no key")
    return text


def say(volume, text):
    print(f"khorovod: {volume['name']}: {text}", file=sys.stderr, flush=True)


def read(path, start, end):
    with open(path, "rb") as file:
        file.seek(start)
        while data := file.read(min(end - file.tell(), 1 << 20)):
            yield data


def md5(chunks):
    hashed = hashlib.new("md5", usedforsecurity=False)
    for data in chunks:
        hashed.update(data)
    return hashed


def etag_of(path, size, part):
    """What S3 says of a file that goes out in such parts, or as it is."""
    if not part:
        return md5(read(path, 0, size)).hexdigest()
    sums = [md5(read(path, at, min(at + part, size))).digest() for at in range(0, size, part)]
    return f"{md5(sums).hexdigest()}-{len(sums)}"


def opaque(headers):
    """Whether the ETag is no MD5, as under the keys of a key service."""
    return headers.get("x-amz-server-side-encryption", "").startswith("aws:kms")


def download(volume, pool):
    bucket, prefix, root = Bucket(volume), volume["prefix"], os.path.realpath(volume["path"])
    journal = os.open(os.path.join(root, JOURNAL), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    with open(journal, closefd=False) as file:
        done = set(file.read().splitlines())

    def note(*words):
        os.write(journal, (json.dumps(words) + "\n").encode())

    def fetch(key, etag, path, start, end):
        def take(answer):
            with open(path, "r+b") as file:
                file.seek(start)
                while data := answer.read(1 << 20):
                    file.write(data)
                if file.tell() != end:
                    raise OSError(f"{end - file.tell()} bytes short")

        bucket.call("GET", key, take=take, **{"range": f"bytes={start}-{end - 1}", "if-match": f'"{etag}"'})
        note(key, etag, start)

    def finish(key, size, etag, path, ranges):
        for each in ranges:
            each.result()
        right = bucket.holds(key, path + UNFINISHED, size, etag)
        if right is False:
            os.remove(path + UNFINISHED)
            raise Refused(f"{key}: what came is not what its ETag {etag} says")
        if right is None:
            say(volume, f"{key}: its ETag {etag} tells no MD5, so only its size was checked")
        os.replace(path + UNFINISHED, path)
        note(key, etag)

    objects = [each for each in bucket.list(prefix) if not each[0].endswith("/")]
    say(volume, f"{len(objects)} objects, {sum(size for _, size, _ in objects)} bytes")
    waiting = []
    for key, size, etag in objects:
        path = os.path.realpath(os.path.join(root, key[len(prefix):]))
        if not path.startswith(root + os.sep):
            raise Refused(f"the key {key!r} leads out of {root}")
        if json.dumps((key, etag)) in done:
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        kept = done if os.path.exists(path + UNFINISHED) else ()
        with open(path + UNFINISHED, "ab") as file:
            file.truncate(size)
        starts = [at for at in range(0, size, PART) if json.dumps((key, etag, at)) not in kept]
        ranges = [pool.submit(fetch, key, etag, path + UNFINISHED, at, min(at + PART, size)) for at in starts]
        # Its ranges stand before it in the queue, so it never waits for what cannot start.
        waiting.append(pool.submit(finish, key, size, etag, path, ranges))
    for each in concurrent.futures.as_completed(waiting):
        each.result()
    os.close(journal)
    say(volume, f"complete in {root}")


def upload(volume, pool):
    bucket, root = Bucket(volume), volume["path"]
    # A launcher that died leaves its upload here: what that sends, nobody need send again.
    fcntl.flock(os.open(root, os.O_RDONLY), fcntl.LOCK_EX)
    there = {key: (size, etag) for key, size, etag in bucket.list(volume["prefix"])}
    failed = threading.Event()

    def same(key, headers, etag, wanted):
        if etag.strip('"') != wanted and not opaque(headers):
            raise Refused(f"{key}: the bucket has {etag}, not {wanted}")

    def put(key, path, start, end, query=(), etag=""):
        if failed.is_set():
            raise Refused("another file could not go out")
        wanted = md5(read(path, start, end)).hexdigest()
        if etag.strip('"') == wanted:
            return etag
        headers, _ = bucket.call("PUT", key, query, lambda: read(path, start, end), end - start)
        same(key, headers, headers.get("etag", ""), wanted)
        return headers["etag"]

    def put_parts(key, path, size, part):
        query, etags = bucket.begin(key)
        try:
            parts = ""
            for number, at in enumerate(range(0, size, part), 1):
                etag = put(key, path, at, min(at + part, size), {**query, "partNumber": number}, etags.get(number, ""))
                parts += f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            parts = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
            headers, answer = bucket.xml("POST", key, query, lambda: parts, len(parts))
            # It may say 200 and mean an error.
            same(key, headers, answer.findtext("{*}ETag", "nothing"), etag_of(path, size, part))
        except Exception:
            # Nobody goes on with these parts, and they cost as much as others.
            with contextlib.suppress(Refused):
                bucket.call("DELETE", key, query)
            raise

    def send(path):
        key, size = volume["prefix"] + os.path.relpath(path, root), os.path.getsize(path)
        if there.get(key, [None])[0] == size and bucket.holds(key, path, *there[key]):
            return 0
        if size > PART:
            put_parts(key, path, size, max(PART, -(-size // 10000)))  # of which S3 takes 10,000
        else:
            put(key, path, 0, size)
        return 1

    paths = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names if name != JOURNAL]
    waiting = [pool.submit(send, path) for path in paths]
    try:
        sent = sum(each.result() for each in concurrent.futures.as_completed(waiting))
    except (Refused, OSError):
        failed.set()
        pool.shutdown(cancel_futures=True)
        raise
    say(volume, f"{sent} of {len(paths)} files were new and went out")


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3.json")) as file:
        volumes = json.load(file)
    verb = {"download": download, "upload": upload}[sys.argv[1]]
    pool = concurrent.futures.ThreadPoolExecutor(8)
    try:
        for volume in volumes:
            if volume[sys.argv[1]]:
                verb(volume, pool)
    except (Refused, OSError) as error:
        print("khorovod: s3:", error, file=sys.stderr, flush=True)
        os._exit(1)  # at once: what still stands in the queue is of no use


if __name__ == "__main__":
    main()
