"""s3.py download|restore|save|leave|upload: copies between the job's S3 volumes and their buckets.

  s3.py download          before this pod runs ranks: all objects
  s3.py restore RUN       before another attempt: what this run has uploaded, if this pod lacks it or has an older version
  s3.py save RUN VOLUME   while the training runs: files that are not being written
  s3.py upload RUN        after the training: all files
  s3.py leave             the same, on a pod that is about to end, if no other pod has uploaded since

Objects are downloaded in ranges, several at once, and uploaded in parts. Completed ranges and parts are not transferred again,
so a restarted container resumes. Every range request is bound to the object's ETag, and every file is verified, in both
directions, by its size and by the MD5 sums in its ETag. Requires only Python.
"""
import concurrent.futures
import contextlib
import datetime
import email.utils
import fcntl
import functools
import hashlib
import hmac
import http.client
import json
import os
import random
import re
import signal
import ssl
import stat
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
JOURNAL = ".khorovod-s3"  # in the volume; the object of that name lists the files of the run
UNFINISHED = ".khorovod-part"
SETTLED = 5  # seconds without a change, after which a file counts as written
WRITTEN = 60  # seconds after which the kernel has noted the time of every change through a memory map
UPLOADS = "/horovod/generated/uploads"  # the run, on the pod that uploads


class Changed(Exception):
    """A file changed while it was read."""


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
            # The agent runs on the node of the pod, so a proxy does not reach it.
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            found = json.loads(self.ask(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"], {"Authorization": token}, direct))
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
        if self.volume["upload"]:
            raise Refused("no credentials: this pod has no role of AWS; give its ServiceAccount a role, and then start the pod again")
        return (None, None, None), float("inf")

    def ask(self, url, headers, opener=None):
        """The answer of the service that gives credentials."""
        opener = opener or urllib.request.build_opener()
        for tried in range(TRIES):
            wait_before(tried)
            try:
                with opener.open(urllib.request.Request(url, headers=headers), timeout=10) as answer:
                    return answer.read()
            except urllib.error.HTTPError as error:
                why, final = f"HTTP {error.code}", is_final(error.code)
            except OSError as error:
                why, final = repr(error), False
            if final:
                break
        place = urllib.parse.urlsplit(url)
        raise Refused(f"no credentials from {place.scheme}://{place.netloc}: {why}")


def is_final(status):
    """Whether another try does not help after this status of HTTP."""
    return status < 500 and status not in (408, 429)


def wait_before(tried):
    """Waits before another try, at random: hosts that fail at the same time must not repeat at the same time."""
    time.sleep(min(30, 2**tried / 4) * random.uniform(0.5, 1) if tried else 0)


def seconds(text):
    """A time in seconds. Python 3.9 and 3.10 do not read every number of digits after the second."""
    return datetime.datetime.fromisoformat(re.sub(r"\.[0-9]+", "", text).replace("Z", "+00:00")).timestamp()


def expiry(text):
    """Five minutes before a time."""
    return seconds(text) - 300


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
                final |= is_final(answer.status)
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
        """Key, size, ETag and time of each object under a prefix, without the list of this run's files."""
        query = {"list-type": "2", "prefix": prefix}
        for item in self.items("", query, "Contents", "continuation-token", "NextContinuationToken"):
            key, etag = item.findtext("{*}Key"), item.findtext("{*}ETag").strip('"')
            if key != prefix + JOURNAL:
                yield key, int(item.findtext("{*}Size")), etag, seconds(item.findtext("{*}LastModified"))

    def state(self, prefix):
        """The notes of the last upload: its run, when that began to upload, its pod, and its files with their ETags. Empty before
        the first upload."""
        try:
            return json.loads(self.call("GET", prefix + JOURNAL)[1])
        except Refused as error:
            if str(error).endswith(" NoSuchKey"):
                return {}
            raise

    def now(self, prefix):
        """The server's time, because the clocks of pods may differ from it."""
        headers, _ = self.call("GET", query={"list-type": "2", "max-keys": "1", "prefix": prefix})
        return email.utils.parsedate_to_datetime(headers["date"] or email.utils.formatdate()).timestamp()

    def begin(self, key, since):
        """Begins a multipart upload, or resumes one of this run: returns its query, and the ETags of the parts that are complete."""
        with contextlib.suppress(Refused):  # without permission to list, all parts are uploaded
            for item in self.xml("GET", query={"uploads": "", "prefix": key})[1].iterfind("{*}Upload"):
                if item.findtext("{*}Key") == key and seconds(item.findtext("{*}Initiated")) >= since:
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


class Copies:
    """The copies of one volume. The journal in the volume lists complete objects and ranges, and the versions of files that the
    bucket has."""

    def __init__(self, volume, pool):
        self.volume, self.pool, self.bucket = volume, pool, Bucket(volume)
        self.root = os.path.realpath(volume["path"])
        self.journal = os.open(os.path.join(self.root, JOURNAL), os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with open(self.journal, closefd=False) as file:
            self.done = set(file.read().splitlines())

    def note(self, *words):
        os.write(self.journal, (json.dumps(words) + "\n").encode())


class Download(Copies):
    """Downloads the objects of one volume."""

    def run(self):
        objects = [each for each in self.bucket.list(self.volume["prefix"]) if json.dumps((each[0], each[2])) not in self.done]
        self.fetch_all([each for each in objects if self.is_needed(*each)])

    def fetch_all(self, objects):
        log(self.volume, f"{len(objects)} objects, {sum(size for _, size, *_ in objects)} bytes")
        waiting, told = [self.begin(*each[:3]) for each in objects], time.monotonic()
        for count, each in enumerate(concurrent.futures.as_completed(waiting), 1):
            each.result()
            if time.monotonic() - told > 30:
                log(self.volume, f"{count} of {len(objects)} objects")
                told = time.monotonic()
        os.close(self.journal)
        log(self.volume, f"complete in {self.root}")

    def path(self, key):
        path = os.path.realpath(os.path.join(self.root, key[len(self.volume["prefix"]):]))
        if not path.startswith(self.root + os.sep):
            raise Refused(f"the key {key!r} leads to a path outside {self.root}")
        return path

    def is_needed(self, key, size, etag, modified):
        """Whether the volume lacks an object, or has a file that is older than the object and differs."""
        if key.endswith("/"):
            return False
        try:
            found = os.stat(self.path(key))
        except FileNotFoundError:
            return True
        if found.st_mtime >= modified:
            return False
        return found.st_size != size or not self.bucket.matches(key, self.path(key), size, etag)

    def begin(self, key, size, etag):
        """Queues the ranges of an object, and behind them the future that is returned: it never waits for what cannot start."""
        path = self.path(key)
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
        if self.volume["upload"]:
            self.note(os.path.relpath(path, self.root), version(path), etag, 0)


class Restore(Download):
    """Downloads what a run has uploaded: not the objects of an earlier run, and no files that were deleted before the last upload."""

    def __init__(self, volume, pool, run):
        super().__init__(volume, pool)
        self.run_id = run

    def run(self):
        state = self.bucket.state(self.volume["prefix"])
        if state.get("run") != self.run_id:
            return
        objects = []
        for key, size, etag, modified in self.bucket.list(self.volume["prefix"]):
            name = key[len(self.volume["prefix"]):]
            # An object without its ETag in the list was uploaded after the list.
            if name in state["files"] and (etag == state["files"][name] or modified >= state["since"]):
                objects.append((key, size, etag, modified))
        objects = [each for each in objects if self.is_needed(*each)]
        if objects:
            log(self.volume, f"downloading what this run has uploaded to {os.uname().nodename}")
            self.fetch_all(objects)


class Upload(Copies):
    """Uploads the new and changed files of one volume, in the order of their last change. A small file comes after all larger ones
    that are older, because it may name them.

    A file that changes while it is read is left out and tried again. An object appears with its last part, or is as small as a
    part, so the bucket never has a mixture of two versions."""

    turns, settled, trusted = 12, 0, WRITTEN

    def __init__(self, volume, pool, run):
        super().__init__(volume, pool)
        self.run_id, self.pod = run, os.environ.get("KHOROVOD_POD_UID", "")
        with contextlib.suppress(OSError), open(UPLOADS, "w") as file:  # on a full disk, files must be uploaded all the more
            file.write(run)
        # Another upload may still run here. After it, most files need no upload.
        fcntl.flock(os.open(self.root, os.O_RDONLY), fcntl.LOCK_EX)
        # The files that the bucket has: version, ETag, and when they were read, which is 0 after a download.
        self.known = {}
        with open(self.journal, closefd=False) as file:
            file.seek(0)
            for line in file:
                with contextlib.suppress(ValueError):
                    name, *rest = json.loads(line)
                    self.known.update({name: rest} if len(rest) == 3 else {})
        self.state = self.bucket.state(volume["prefix"])
        self.since = self.state["since"] if self.state.get("run") == run else self.bucket.now(volume["prefix"])
        self.objects = {key: (size, etag) for key, size, etag, _ in self.bucket.list(volume["prefix"])}
        self.failed = threading.Event()

    def run(self):
        sent = 0
        for turn in range(self.turns):
            time.sleep(min(turn, 1) * SETTLED)
            files = self.scan()
            self.claim(files)
            written = [name for name in files if time.time() - files[name][2] / 1e9 >= self.settled]
            try:
                results = self.send_all(files, written)
            except (Refused, OSError):
                self.failed.set()
                self.pool.shutdown(cancel_futures=True)
                raise
            sent += results.count(1)
            self.claim(files)
            if results.count(0) + results.count(1) == len(files):
                break
        else:
            self.give_up()
        self.report(sent, len(files))

    def give_up(self):
        raise Refused(f"files in {self.root} still change")

    def report(self, sent, count):
        log(self.volume, f"uploaded {sent} of {count} files; the others are unchanged")

    def scan(self):
        """The files of the volume with their versions."""
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names]
        versions = {os.path.relpath(path, self.root): version(path) for path in paths if not path.endswith(UNFINISHED)}
        return {name: found for name, found in versions.items() if found and name != JOURNAL}

    def claim(self, files):
        """Notes in the bucket which files this run has, and that this pod uploads them."""
        noted = {name: self.etag(name, found) for name, found in sorted(files.items())}
        state = {"run": self.run_id, "since": self.since, "pod": self.pod, "files": noted}
        if state != self.state:
            text = json.dumps(state).encode()
            self.bucket.call("PUT", self.volume["prefix"] + JOURNAL, (), lambda: chunks(text), len(text))
            self.state = state

    def etag(self, name, found):
        """The ETag of a version that the bucket has."""
        noted, etag, _ = self.known.get(name, (None, None, None))
        return etag if noted == found else None

    def send_all(self, files, written):
        waiting, large = [], None
        # Files of the same tick of the kernel's clock: large ones first.
        for name in sorted(written, key=lambda name: (self.etag(name, files[name]) is not None, files[name][2], -files[name][1])):
            waiting.append(self.pool.submit(self.send, name, files[name], large))
            if files[name][1] > PART:
                large = waiting[-1]
        return [each.result() for each in concurrent.futures.as_completed(waiting)]

    def send(self, name, found, before):
        """Uploads a file unless the bucket has it. Returns how many files were uploaded, or None if the file has changed."""
        key, path, now = self.volume["prefix"] + name, os.path.join(self.root, name), time.time()
        size, etag = self.objects.get(key, (None, None))
        noted, known, read_at = self.known.get(name, (None, None, None))
        if noted == found and (not read_at or known == etag and read_at - found[2] / 1e9 >= self.trusted):
            return 0
        count = 0
        try:
            if size != found[1] or not self.bucket.matches(key, path, size, etag):
                count, etag = 1, (self.put_parts if found[1] > PART else self.put_file)(key, path, found, before)
            if version(path) != found:
                return None
        except (Changed, FileNotFoundError):
            return None
        self.objects[key], self.known[name] = (found[1], etag), (found, etag, now)
        with contextlib.suppress(OSError):  # or the next upload reads the file again
            self.note(name, *self.known[name])
        return count

    def put(self, key, data, query=(), etag=""):
        """Uploads data unless its ETag is known and right. Returns the ETag and the MD5 sum."""
        if self.failed.is_set():
            raise Refused("the upload of another file failed")
        wanted = md5([data])
        if etag.strip('"') != wanted.hexdigest():
            headers, _ = self.bucket.call("PUT", key, query, lambda: chunks(data), len(data))
            etag = headers.get("etag", "")
            verify(key, headers, etag, wanted.hexdigest())
        return etag, wanted.digest()

    def put_file(self, key, path, found, before):
        data = read_all(path, 0, found[1])
        publish_after(before, path, found)
        return self.put(key, data)[0].strip('"')

    def put_parts(self, key, path, found, before):
        part = max(PART, -(-found[1] // MAX_PARTS))
        query, etags = self.bucket.begin(key, self.since)
        try:
            parts, sums = "", []
            for number, at in enumerate(range(0, found[1], part), 1):
                data = read_all(path, at, min(at + part, found[1]))
                etag, wanted = self.put(key, data, {**query, "partNumber": number}, etags.get(number, ""))
                parts += f"<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>"
                sums.append(wanted)
            publish_after(before, path, found)
            parts = f"<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>".encode()
            headers, answer = self.bucket.xml("POST", key, query, lambda: parts, len(parts))
            # S3 may answer 200 with an error in the body.
            etag = answer.findtext("{*}ETag", "nothing").strip('"')
            verify(key, headers, etag, f"{md5(sums).hexdigest()}-{len(sums)}")
            return etag
        except Exception:
            # S3 bills parts that no upload completes.
            with contextlib.suppress(Refused):
                self.bucket.call("DELETE", key, query)
            raise


class Save(Upload):
    """Uploads the files that are not being written. The next upload has the others."""

    settled = trusted = SETTLED

    def give_up(self):
        pass

    def report(self, sent, count):
        if sent:
            super().report(sent, count)


class Leave(Upload):
    """Uploads unless another pod has uploaded since, whose files are newer."""

    def run(self):
        if (self.state.get("run"), self.state.get("pod")) == (self.run_id, self.pod):
            super().run()


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


def version(path):
    """The inode of a file, its size, and the time of its last change, which change with the file. None if it is not a file."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return [found.st_ino, found.st_size, found.st_ctime_ns] if stat.S_ISREG(found.st_mode) else None


def publish_after(before, path, found):
    """Waits for the upload of an older file. Fails if this file has changed."""
    if before:
        before.result()
    if version(path) != found:
        raise Changed


def read_all(path, start, end):
    """A part of a file, in memory, so that what was verified is what is sent."""
    data = b"".join(read(path, start, end))
    if len(data) != end - start:
        raise Changed
    return data


def chunks(data):
    """A server that takes the data slowly must not exceed the time limit of one write."""
    yield from (data[at:at + (1 << 20)] for at in range(0, len(data), 1 << 20))


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


def end(kind, code):
    """Exits at once, without the rest of the queue. After the upload of the launcher, this pod has nothing more to do."""
    if kind is Upload:
        with contextlib.suppress(OSError):
            os.remove(UPLOADS)
    os._exit(code)


def main():
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "s3.json")) as file:
        volumes = json.load(file)
    verb, *words = sys.argv[1:]
    kind = {"download": Download, "restore": Restore, "save": Save, "upload": Upload, "leave": Leave}[verb]
    signal.signal(signal.SIGTERM, lambda *_: end(kind, 143))
    # Each holds a part of 16 MiB in memory, which the training needs.
    pool = concurrent.futures.ThreadPoolExecutor(4 if kind is Save else 8)
    try:
        if kind is Leave:
            with open(UPLOADS) as file:
                words = [file.read()]
        for volume in volumes:
            if volume["download" if kind is Download else "upload"] and volume["name"] in (words[1:] or [volume["name"]]):
                kind(volume, pool, *words[:1]).run()
    except (Refused, OSError) as error:
        print("khorovod: s3:", error, file=sys.stderr, flush=True)
        end(kind, 1)
    end(kind, 0)


if __name__ == "__main__":
    main()
