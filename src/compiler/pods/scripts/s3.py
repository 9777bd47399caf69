"""s3.py download|upload: downloads the job's S3 volumes before training, or uploads them after it.

Objects are downloaded in ranges, several at once, and uploaded in parts. Completed ranges and parts are not transferred again,
so a restarted container resumes. Every range request is bound to the object's ETag, and every file is verified, in both
directions, by its size and by the MD5 sums in its ETag. Requires only Python.
"""
import concurrent.futures
import contextlib
import datetime
import fcntl
import functools
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import ssl
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree

PART = 16 << 20  # eight are in flight, which a sudden end loses
MAX_PARTS = 10000  # of one object, by S3
TRIES = 10  # about two minutes
JOURNAL = ".khorovod-s3"
UNFINISHED = ".khorovod-part"


class Refused(Exception):
    """An error that another try does not resolve."""


class Keys:
    """The credentials of a volume: those of its Secret, or those that the platform gives to the ServiceAccount of the pod (in EKS
    through IAM roles for service accounts, or Pod Identity), or none for a public bucket."""

    def __init__(self, volume):
        self.volume, self.until, self.found = volume, 0, (None, None, None)
        self.lock = threading.Lock()

    def current(self):
        with self.lock:
            if time.time() > self.until:
                self.found, self.until = self.read()
            return self.found

    def read(self):
        if self.volume["signed"]:
            folder = f"/etc/khorovod/s3/{self.volume['name']}/AWS_"
            names = ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY"] + ["SESSION_TOKEN"] * os.path.exists(folder + "SESSION_TOKEN")
            return ([read_secret(folder + name) for name in names] + [None])[:3], float("inf")
        if "AWS_CONTAINER_CREDENTIALS_FULL_URI" in os.environ:
            token = read_secret(os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"])
            found = json.loads(self.ask(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"], {"Authorization": token}))
            return (found["AccessKeyId"], found["SecretAccessKey"], found["Token"]), expiry(found["Expiration"])
        if "AWS_WEB_IDENTITY_TOKEN_FILE" in os.environ:
            query = urllib.parse.urlencode({
                "Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleSessionName": "khorovod",
                "RoleArn": os.environ["AWS_ROLE_ARN"],
                "WebIdentityToken": read_secret(os.environ["AWS_WEB_IDENTITY_TOKEN_FILE"]),
            })
            place = os.environ.get("AWS_ENDPOINT_URL_STS") or f"https://sts.{self.volume['region']}.amazonaws.com"
            found = xml.etree.ElementTree.fromstring(self.ask(f"{place}/?{query}", {}))
            names = ("AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration")
            user, secret, session, until = (found.findtext(".//{*}" + name) for name in names)
            return (user, secret, session), expiry(until)
        return (None, None, None), float("inf")

    def ask(self, url, headers):
        """The answer of the service that gives credentials."""
        for tried in range(TRIES):
            wait_before(tried)
            try:
                with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                why, final = f"HTTP {error.code}", error.code < 500 and error.code != 429
            except OSError as error:
                why, final = repr(error), False
            if final:
                break
        place = urllib.parse.urlsplit(url)
        raise Refused(f"no credentials from {place.scheme}://{place.netloc}: {why}")


def wait_before(tried):
    """Waits before another try, at random: hosts that fail at the same time must not repeat at the same time."""
    time.sleep(min(30, 2**tried / 4) * random.uniform(0.5, 1) if tried else 0)


def expiry(text):
    """Five minutes before a time, in seconds."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - 300


def connect(endpoint):
    """A connection to a server, and what comes before a path in its requests: through the proxy that the environment names, if any."""
    kind = http.client.HTTPSConnection if endpoint.scheme == "https" else http.client.HTTPConnection
    proxy = urllib.request.getproxies().get(endpoint.scheme)
    if not proxy or urllib.request.proxy_bypass(endpoint.hostname):
        return kind(endpoint.netloc, timeout=60), ""
    proxy = urllib.parse.urlsplit(proxy if "://" in proxy else "http://" + proxy)
    connection = kind(proxy.hostname, proxy.port or 80, timeout=60)
    if endpoint.scheme == "http":
        return connection, f"http://{endpoint.netloc}"
    connection.set_tunnel(endpoint.hostname, endpoint.port or 443)
    return connection, ""


class Bucket:
    """Signed requests to the bucket of one volume."""

    def __init__(self, volume):
        self.endpoint = urllib.parse.urlsplit(volume["endpoint"])
        self.base = quote(f"{self.endpoint.path}/{volume['bucket']}", "/")
        self.region = volume["region"]
        self.keys = Keys(volume)

    def headers(self, method, path, query):
        """Signature version 4. The body is not signed: the ETag verifies it."""
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        headers = {"host": self.endpoint.netloc, "x-amz-content-sha256": "UNSIGNED-PAYLOAD", "x-amz-date": now}
        user, secret, session = self.keys.current()
        if not user:
            return headers
        if session:
            headers["x-amz-security-token"] = session
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        request = "\n".join([method, path, query, lines, names, "UNSIGNED-PAYLOAD"])
        scope = f"{now[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(request.encode()).hexdigest()])
        key = b"AWS4" + secret.encode()
        for word in scope.split("/") + [text]:
            key = hmac.digest(key, word.encode(), "sha256")
        authorization = f"Credential={user}/{scope}, SignedHeaders={names}, Signature={key.hex()}"
        return {**headers, "authorization": "AWS4-HMAC-SHA256 " + authorization}

    def call(self, method, key="", query=(), body=bytes, size=0, take=lambda answer: answer.read(), **extra):
        """Sends a request, and repeats it while that may help. Returns the answer's headers and the result of `take`."""
        path = self.base + ("/" + quote(key, "/") if key else "")
        query = "&".join(f"{quote(name)}={quote(str(value))}" for name, value in sorted(dict(query).items()))
        for tried in range(TRIES):
            wait_before(tried)
            final = tried == TRIES - 1
            connection, before = connect(self.endpoint)
            try:
                headers = {**self.headers(method, path, query), "content-length": str(size), **extra}
                connection.request(method, before + path + (query and "?" + query), body(), headers)
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
            if tried == 4:
                print(f"khorovod: s3: {self.endpoint.netloc}: {why}; trying again", file=sys.stderr, flush=True)

    def xml(self, *words, **more):
        headers, text = self.call(*words, **more)
        try:
            return headers, xml.etree.ElementTree.fromstring(text)
        except xml.etree.ElementTree.ParseError:
            raise Refused(f"{self.endpoint.netloc} did not return a response of S3") from None

    def items(self, key, query, kind, marker, following):
        """All elements of a list, page by page."""
        more = True
        while more:
            _, page = self.xml("GET", key, query)
            yield from page.iterfind("{*}" + kind)
            more = page.findtext("{*}IsTruncated") == "true"
            query = {**query, marker: page.findtext("{*}" + following)}

    def list(self, prefix):
        """Key, size and ETag of each object under a prefix."""
        query = {"list-type": "2", "prefix": prefix}
        for item in self.items("", query, "Contents", "continuation-token", "NextContinuationToken"):
            yield item.findtext("{*}Key"), int(item.findtext("{*}Size")), item.findtext("{*}ETag").strip('"')

    def begin(self, key):
        """Begins a multipart upload, or resumes one: returns its query, and the ETags of the parts that are complete."""
        with contextlib.suppress(Refused):  # without permission to list, all parts are uploaded
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

    def matches(self, key, path, size, etag):
        """Whether the object is equal to a file. None if its ETag is not made of MD5 sums."""
        found = re.fullmatch("[0-9a-f]{32}(?:-([0-9]+))?", etag)
        part = 0
        if found and found[1]:
            count = int(found[1])
            part, last = (int(self.head(key, partNumber=number).get("content-length", 0)) for number in (1, count))
            found = part and (count - 1) * part + last == size
        if not found:
            return None
        return etag_of(path, size, part) == etag or (None if is_opaque(self.head(key)) else False)


class Download:
    """Downloads the objects of one volume. The journal in the volume lists complete objects and ranges."""

    def __init__(self, volume, pool):
        self.volume, self.pool, self.bucket = volume, pool, Bucket(volume)
        self.root = os.path.realpath(volume["path"])
        self.journal = os.open(os.path.join(self.root, JOURNAL), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with open(self.journal, closefd=False) as file:
            self.done = set(file.read().splitlines())

    def run(self):
        objects = [each for each in self.bucket.list(self.volume["prefix"]) if not each[0].endswith("/")]
        log(self.volume, f"{len(objects)} objects, {sum(size for _, size, _ in objects)} bytes")
        waiting = [self.begin(*each) for each in objects if json.dumps((each[0], each[2])) not in self.done]
        for each in concurrent.futures.as_completed(waiting):
            each.result()
        os.close(self.journal)
        log(self.volume, f"complete in {self.root}")

    def begin(self, key, size, etag):
        """Queues the ranges of an object, and behind them the future that is returned: it never waits for what cannot start."""
        path = os.path.realpath(os.path.join(self.root, key[len(self.volume["prefix"]):]))
        if not path.startswith(self.root + os.sep):
            raise Refused(f"the key {key!r} leads to a path outside {self.root}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        kept = self.done if os.path.exists(path + UNFINISHED) else ()
        with open(path + UNFINISHED, "ab") as file:
            file.truncate(size)
        starts = [at for at in range(0, size, PART) if json.dumps((key, etag, at)) not in kept]
        ranges = [self.pool.submit(self.fetch, key, etag, path, at, min(at + PART, size)) for at in starts]
        return self.pool.submit(self.finish, key, size, etag, path, ranges)

    def fetch(self, key, etag, path, start, end):
        take = functools.partial(write_range, path + UNFINISHED, start, end)
        self.bucket.call("GET", key, take=take, **{"range": f"bytes={start}-{end - 1}", "if-match": f'"{etag}"'})
        self.note(key, etag, start)

    def finish(self, key, size, etag, path, ranges):
        for each in ranges:
            each.result()
        right = self.bucket.matches(key, path + UNFINISHED, size, etag)
        if right is False:
            os.remove(path + UNFINISHED)
            raise Refused(f"{key}: the data does not match its ETag {etag}")
        if right is None:
            log(self.volume, f"{key}: its ETag {etag} has no MD5 sums, so only its size was verified")
        os.replace(path + UNFINISHED, path)
        self.note(key, etag)

    def note(self, *words):
        os.write(self.journal, (json.dumps(words) + "\n").encode())


class Upload:
    """Uploads the new and changed files of one volume."""

    def __init__(self, volume, pool):
        self.volume, self.pool, self.bucket, self.root = volume, pool, Bucket(volume), volume["path"]
        # The upload of a launcher that was killed still runs here. After it, most files need no upload.
        fcntl.flock(os.open(self.root, os.O_RDONLY), fcntl.LOCK_EX)
        self.objects = {key: (size, etag) for key, size, etag in self.bucket.list(volume["prefix"])}
        self.failed = threading.Event()

    def run(self):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names if name != JOURNAL]
        waiting = [self.pool.submit(self.send, path) for path in paths]
        try:
            sent = sum(each.result() for each in concurrent.futures.as_completed(waiting))
        except (Refused, OSError):
            self.failed.set()
            self.pool.shutdown(cancel_futures=True)
            raise
        log(self.volume, f"uploaded {sent} of {len(paths)} files; the others are unchanged")

    def send(self, path):
        """Uploads a file unless the bucket has it. Returns how many files were uploaded."""
        key, size = self.volume["prefix"] + os.path.relpath(path, self.root), os.path.getsize(path)
        if self.objects.get(key, [None])[0] == size and self.bucket.matches(key, path, *self.objects[key]):
            return 0
        if size > PART:
            self.put_parts(key, path, size, max(PART, -(-size // MAX_PARTS)))
        else:
            self.put(key, path, 0, size)
        return 1

    def put(self, key, path, start, end, query=(), etag=""):
        """Uploads a range of a file unless its ETag is known and right. Returns the ETag."""
        if self.failed.is_set():
            raise Refused("the upload of another file failed")
        wanted = md5(read(path, start, end)).hexdigest()
        if etag.strip('"') == wanted:
            return etag
        headers, _ = self.bucket.call("PUT", key, query, lambda: read(path, start, end), end - start)
        verify(key, headers, headers.get("etag", ""), wanted)
        return headers["etag"]

    def put_parts(self, key, path, size, part):
        query, etags = self.bucket.begin(key)
        try:
            parts = ""
            for number, at in enumerate(range(0, size, part), 1):
                etag = self.put(key, path, at, min(at + part, size), {**query, "partNumber": number}, etags.get(number, ""))
                parts += f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
            parts = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
            headers, answer = self.bucket.xml("POST", key, query, lambda: parts, len(parts))
            # S3 may answer 200 with an error in the body.
            verify(key, headers, answer.findtext("{*}ETag", "nothing"), etag_of(path, size, part))
        except Exception:
            # S3 bills parts that no upload completes.
            with contextlib.suppress(Refused):
                self.bucket.call("DELETE", key, query)
            raise


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def read_secret(path):
    try:
        with open(path) as file:
            text = file.read().strip()
    except FileNotFoundError:
        raise Refused(f"{path} is missing") from None
    if not re.fullmatch("[!-~]+", text):
        raise Refused(f"{path} does not hold a key")
    return text


def log(volume, text):
    print(f"khorovod: {volume['name']}: {text}", file=sys.stderr, flush=True)


def read(path, start, end):
    with open(path, "rb") as file:
        file.seek(start)
        while data := file.read(min(end - file.tell(), 1 << 20)):
            yield data


def write_range(path, start, end, answer):
    with open(path, "r+b") as file:
        file.seek(start)
        while data := answer.read(1 << 20):
            file.write(data)
        if file.tell() != end:
            raise OSError(f"{end - file.tell()} bytes short")


def md5(chunks):
    hashed = hashlib.new("md5", usedforsecurity=False)
    for data in chunks:
        hashed.update(data)
    return hashed


def etag_of(path, size, part):
    """The ETag of a file that is uploaded in parts of this size, or in one piece if it is 0."""
    if not part:
        return md5(read(path, 0, size)).hexdigest()
    sums = [md5(read(path, at, min(at + part, size))).digest() for at in range(0, size, part)]
    return f"{md5(sums).hexdigest()}-{len(sums)}"


def is_opaque(headers):
    """Whether the ETag is not an MD5 sum because a key service encrypts the object."""
    return headers.get("x-amz-server-side-encryption", "").startswith("aws:kms")


def verify(key, headers, etag, wanted):
    if etag.strip('"') != wanted and not is_opaque(headers):
        raise Refused(f"{key}: the bucket has {etag}, not {wanted}")


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3.json")) as file:
        volumes = json.load(file)
    transfer = {"download": Download, "upload": Upload}[sys.argv[1]]
    pool = concurrent.futures.ThreadPoolExecutor(8)
    try:
        for volume in volumes:
            if volume[sys.argv[1]]:
                transfer(volume, pool).run()
    except (Refused, OSError) as error:
        print("khorovod: s3:", error, file=sys.stderr, flush=True)
        os._exit(1)  # at once, without the rest of the queue


if __name__ == "__main__":
    main()
