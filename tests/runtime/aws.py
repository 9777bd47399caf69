"""aws.py FOLDER SERVER REGION: emulates the services of AWS that give credentials to a pod, an S3 server that accepts these, and an HTTP proxy.

Port 9001: STS (AssumeRoleWithWebIdentity), and at /v1/credentials the agent of EKS Pod Identity. Both expect the token in FOLDER/token, and
give keys with a session token. Each refuses its first request with 503. The credentials are to be renewed after two seconds.
Port 9002: the proxy.
Port 9003: S3 for these credentials. It passes requests on to SERVER, which has no session tokens, signed with the keys in FOLDER/keys.
Port 9004, if FOLDER has tls.crt and tls.key: the S3 server with HTTPS.
FOLDER/requests.log has a line for each request.
"""
import datetime
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import select
import socket
import ssl
import sys
import threading
import urllib.parse

FOLDER, SERVER, REGION = sys.argv[1:]
GIVEN = ("ASIATEST", "given/secret", "session-token")
ROLE = "arn:aws:iam::123456789012:role/trainer"
# s3.py renews credentials five minutes before they expire.
VALID = 302
asked = set()


def content(name):
    with open(f"{FOLDER}/{name}", encoding="utf-8") as file:
        return file.read().split()


def expiration():
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=VALID)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def signature(user, secret, method, target, headers, names):
    """The header `authorization` of AWS for a request, signature version 4."""
    path, _, query = target.partition("?")
    date = headers["x-amz-date"]
    lines = [method, path, query, *(f"{name}:{headers[name]}" for name in names), "", ";".join(names), headers["x-amz-content-sha256"]]
    scope = [date[:8], REGION, "s3", "aws4_request"]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    key = b"AWS4" + secret.encode()
    for word in [*scope, "\n".join(["AWS4-HMAC-SHA256", date, "/".join(scope), digest])]:
        key = hmac.digest(key, word.encode(), "sha256")
    return f"AWS4-HMAC-SHA256 Credential={user}/{'/'.join(scope)}, SignedHeaders={';'.join(names)}, Signature={key.hex()}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def note(self, *words):
        with open(f"{FOLDER}/requests.log", "a", encoding="utf-8") as file:
            file.write(" ".join(words) + "\n")

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def give(self, name, is_right, body):
        if not is_right:
            status = 403
        else:
            status = 200 if name in asked else 503
            asked.add(name)
        self.note(name, str(status))
        self.answer(status, body if status == 200 else b"refused")

    def do_GET(self):
        if "://" in self.path:
            at = urllib.parse.urlsplit(self.path)
            self.note("proxy", self.command, f"{at.netloc}{at.path}")
            return self.forward(at.netloc, at.path + (at.query and "?" + at.query), dict(self.headers))
        if self.server.server_port == 9004:
            return self.forward(SERVER, self.path, dict(self.headers))
        if self.server.server_port == 9003:
            return self.serve_bucket()
        at = urllib.parse.urlsplit(self.path)
        (user, secret, session), end = GIVEN, expiration()
        if at.path == "/v1/credentials":
            found = {"AccessKeyId": user, "SecretAccessKey": secret, "Token": session, "Expiration": end, "AccountId": "123456789012"}
            return self.give("agent", [self.headers["authorization"]] == content("token"), json.dumps(found).encode())
        query = dict(urllib.parse.parse_qsl(at.query))
        wanted = {"Action": "AssumeRoleWithWebIdentity", "Version": "2011-06-15", "RoleArn": ROLE, "WebIdentityToken": content("token")[0]}
        is_right = wanted.items() <= query.items() and query.get("RoleSessionName")
        keys = f"<AccessKeyId>{user}</AccessKeyId><SecretAccessKey>{secret}</SecretAccessKey>"
        more = f"<SessionToken>{session}</SessionToken><Expiration>{end}</Expiration>"
        body = f"""<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult>
            <Credentials>{keys}{more}</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"""
        return self.give("sts", is_right, body.encode())

    do_PUT = do_POST = do_HEAD = do_DELETE = do_GET

    def serve_bucket(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        names = sorted(re.search("SignedHeaders=([^,]*)", headers.get("authorization", "SignedHeaders="))[1].split(";"))
        is_right = headers.get("x-amz-security-token") == GIVEN[2] and "x-amz-security-token" in names
        if not is_right or headers["authorization"] != signature(*GIVEN[:2], self.command, self.path, headers, names):
            self.note("bucket", self.command, "403")
            return self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        self.note("bucket", self.command, self.path.partition("?")[0])
        del headers["x-amz-security-token"]
        names.remove("x-amz-security-token")
        headers["host"] = SERVER
        headers["authorization"] = signature(*content("keys"), self.command, self.path, headers, names)
        return self.forward(SERVER, self.path, headers)

    def forward(self, server, target, headers):
        """Sends the request to another server, and returns its answer."""
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        connection = http.client.HTTPConnection(server, timeout=20)
        connection.request(self.command, target, body, headers)
        answer = connection.getresponse()
        left_out = ("content-length", "connection", "transfer-encoding")
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in left_out]
        if self.command == "HEAD":
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
        else:
            self.answer(answer.status, answer.read(), kept)
        connection.close()

    def do_CONNECT(self):
        self.note("proxy", self.command, self.path)
        host, port = self.path.rsplit(":", 1)
        with socket.create_connection((host, int(port))) as there:
            self.send_response(200)
            self.end_headers()
            other = {self.connection: there, there: self.connection}
            while True:
                for one in select.select(list(other), [], [])[0]:
                    if not (data := one.recv(1 << 16)):
                        self.close_connection = True
                        return
                    other[one].sendall(data)


def main():
    servers = [http.server.ThreadingHTTPServer(("", port), Handler) for port in (9001, 9002, 9003)]
    if os.path.exists(f"{FOLDER}/tls.crt"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{FOLDER}/tls.crt", f"{FOLDER}/tls.key")
        servers.append(http.server.ThreadingHTTPServer(("", 9004), Handler))
        servers[-1].socket = context.wrap_socket(servers[-1].socket, server_side=True)
    threads = [threading.Thread(target=server.serve_forever) for server in servers]
    for thread in threads:
        thread.start()


main()
