"""call.py METHOD URL BODY: sends a request to the API server in images without curl; prints the answer and its status."""
import ssl
import sys
import urllib.error
import urllib.request

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount/"
method, url, body = sys.argv[1:4]
with open(ACCOUNT + "token") as token:
    kind = "json" if method == "POST" else "merge-patch+json"
    headers = {"Authorization": "Bearer " + token.read().strip(), "Content-Type": "application/" + kind}
request = urllib.request.Request(url, body.encode() or None, headers, method=method)
try:
    trust = ssl.create_default_context(cafile=ACCOUNT + "ca.crt")
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust))
    with direct.open(request, timeout=10) as answer:
        print(answer.read().decode(), answer.status, sep="\n")
except urllib.error.HTTPError as error:
    print(error.read().decode(), error.code, sep="\n")
except OSError as error:
    print(error, "000", sep="\n")
