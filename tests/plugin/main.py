"""Tests the plugins and the KRM function: main.py BINARY WORK HELM3 HELM4 OLDEST_HELM4 KUSTOMIZE REGISTRY

WORK contains `plugins`, the output of plugin/build.sh, and the keyrings that signed them.
"""

import contextlib
import hashlib
import http.server
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import extism
import yaml
from hosts import Extism, Wasmtime

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from checks import check, on_terminal  # noqa: E402

SEED = (ROOT / "examples/ssh.seed").read_text().strip()
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/job.yaml"))
JOB = (ROOT / "examples/smallest/job.yaml").read_text()
SCRIPTS = ROOT / "src/compiler/pods/scripts"
# The limits: the module's size, and the ratio of the times of `helm khorovod render` and `helm version`.
LARGEST, SLOWEST = 1_450_000, 2.5


class Place:
    """An environment with its own home folder, `khorovod` in PATH, and a seed."""

    def __init__(self, home, binary=None):
        self.home = Path(home)
        (self.home / "bin").mkdir(parents=True)
        if binary:
            (self.home / "bin/khorovod").symlink_to(Path(binary).resolve())
        path = f"{self.home}/bin:/usr/bin:/bin"
        self.env = {"HOME": str(self.home), "PATH": path, "KHOROVOD_SSH_SEED": SEED}

    def run(self, *command, stdin="", cwd=None, **env):
        command, env = list(map(str, command)), {name: value for name, value in {**self.env, **env}.items() if value}
        return subprocess.run(command, env=env, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)


def as_list(stream):
    """A stream's documents as the items of a ResourceList."""
    items = []
    for document in re.split(r"^---\n", stream, flags=re.M):
        lines = [f"  {line}" if line != "\n" else line for line in document.splitlines(keepends=True)]
        items += ["- " + "".join(lines)[2:]]
    return "kind: ResourceList\nitems:\n" + "".join(items)


def expected_objects(folder):
    """The rendered objects of an example: its objects.yaml with the text of each static script (see tests/examples.rs)."""
    def entry(match):
        lines = (SCRIPTS / match[1]).read_text().splitlines(keepends=True)
        # Pods get scripts without blank lines and comments.
        code = [line for at, line in enumerate(lines) if line.strip() and (not line.lstrip().startswith("#") or at == 0 and line.startswith("#!"))]
        return f"  {match[1]}: |\n" + "".join(f"    {line}" for line in code)

    text = re.sub(r"\A(#.*\n)+", "", (folder / "objects.yaml").read_text())
    return re.sub(r"^  (\S+): <static script>\n", entry, text, flags=re.M)


def same_everywhere(place, helm4, module):
    """The same spec and seed give the same bytes in all hosts."""
    native = Wasmtime(module)
    host = Extism(module, 8192, KHOROVOD_SSH_SEED=SEED)
    check(len(EXAMPLES) > 30, "there are examples")
    for folder in EXAMPLES:
        job, name = (folder / "job.yaml").read_text(), folder.name
        expected = place.run("khorovod", "render", "-q", stdin=job).stdout
        check(expected == expected_objects(folder), f"{name}: the native binary")
        check(place.run("khorovod", "post-render", stdin=job).stdout == expected, f"{name}: the post-renderer")
        ran = place.run(helm4, "khorovod", "render", stdin=job)
        check(ran.stdout == expected and not ran.stderr, f"{name}: the wasm plugin under Helm 4", ran.stderr)
        code, answer, error, out, err = native.call(
            "helm_plugin_main", '{"extraArgs":["render"]}', job.encode(), [("KHOROVOD_SSH_SEED", SEED)]
        )
        check((code, answer, out.decode()) == (0, "{}", expected), f"{name}: the module under wasmtime", error + err)
        check(host.post_render(job) == expected, f"{name}: the module under Extism")
        ran = place.run("khorovod", "krm", stdin=as_list(job))
        # The comment before the document is removed with it, and the bytes are those of its objects.
        check(ran.stdout == as_list(expected), f"{name}: the KRM function", ran.stderr)
        planned = place.run(helm4, "khorovod", "plan", stdin=job).stdout
        check(planned == (folder / "plan.txt").read_text(), f"{name}: the plan under Helm 4")


def command(place, helm4, module):
    """`helm khorovod …` in WebAssembly prints the same as the native binary."""
    wasm = lambda *args, **more: place.run(helm4, "khorovod", *args, **more)
    native = lambda *args, **more: place.run("khorovod", *args, **more)
    wrong = JOB.replace("gpus: 8", "gpu: 8").replace("replicas: 4", "replicas: -1")
    for args in (["render"], ["validate"], ["plan"], ["render", "--set", "workers.x=1"], ["render", "--color", "always"]):
        found, expected = wasm(*args, stdin=wrong), native(*args, stdin=wrong)
        check(found.returncode == expected.returncode == 1 and not found.stdout, f"{args} fails", found.stdout)
        said = found.stderr.removesuffix("Error: plugin error: the spec has problems\n")
        check(said != found.stderr and said == expected.stderr, f"{args} prints the reason", found.stderr + expected.stderr)
    for args in (
        ["validate", "-o", "json"], ["validate", "--output=sarif"], ["validate", "-o", "github"],
    ):
        check(wasm(*args, stdin=wrong).stdout == native(*args, stdin=wrong).stdout != "", f"{args}")
    warned = JOB.replace(":1.4", "")
    options = ["--set", "workers.gpus=2", "--set=workers.replicas=3", "--kube-version", "1.33", "--no-keys"]
    for args in (
        ["render", *options], ["render", "-q"], ["plan", "-o", "json"], ["validate"], ["plan", "--strict"],
        ["explain", "workers.gpus"], ["explain", "out-of-range"], ["explain", "--codes"], ["render", "-"],
    ):
        found, expected = wasm(*args, stdin=warned), native(*args, stdin=warned)
        check(found.stdout == expected.stdout, f"{args}: stdout", found.stdout + found.stderr)
        said = found.stderr.split("Error: plugin error")[0]
        check(said == expected.stderr and bool(found.returncode) == bool(expected.returncode), f"{args}: stderr", said)
    large = "---\n".join(JOB.replace("name: mnist", f"name: m{index}") for index in range(3000))[: 2 << 20]
    for args, stdin, env, why in [
        (["render"], JOB, {"KHOROVOD_SSH_SEED": ""}, "no-ssh-keys"),
        (["render"], JOB, {"KHOROVOD_SSH_SEED": "secret"}, "KHOROVOD_SSH_SEED has 6 characters that are not a seed"),
        (["render", "job.yaml"], JOB, {}, "'job.yaml' names a file, but this plugin cannot open files"),
        (["render", "--ssh-seed", "x"], JOB, {}, "names a file"),
        (["plan", "-o", "x.json"], JOB, {}, "names a file"),
        (["render", "--frob"], JOB, {}, "unexpected argument '--frob'"),
        (["render", "-o", "json"], JOB, {}, "unexpected argument"),
        (["render", "--set"], JOB, {}, "--set needs a value"),
        (["render", "--strict=1"], JOB, {}, "--strict takes no value"),
        (["render", "--kube-version", "x"], JOB, {}, "write it as 1.34"),
        (["validate", "-o", "x"], JOB, {}, "there is no format 'x'"),
        (["keygen", "x"], "", {}, "there is no command 'keygen' in this plugin"),
        (["explain", "workers.gpsu"], "", {}, "did you mean workers.gpus"),
        (["render"], "", {}, "no-training-job"),
        (["render"], large + "#" * (2 << 20), {}, "cannot read <stdin>: it is larger than 2 MiB"),
        (["render"], "apiVersion: khorovod.dev/v1alpha1\nspec: " + "[" * 500_000, {}, "yaml-"),
    ]:
        found = wasm(*args, stdin=stdin, **env)
        check(found.returncode == 1 and not found.stdout, f"{args} fails: {why}", found.stdout[:500])
        check(why in found.stderr and "panic" not in found.stderr, f"{args} prints: {why}", found.stderr[:2000])
    found = wasm("validate", stdin=large.rsplit("---", 1)[0])
    check(found.returncode == 0 and "ok: <stdin> is valid" in found.stderr, "thousands of jobs fit its memory", found.stderr[-500:])
    check("Usage: helm khorovod COMMAND" in wasm().stdout == wasm("help").stdout, "it has help")
    # The module has no access to files and hosts.
    asked = Wasmtime(module).imports
    check(not [name for name in asked if re.search("path_|sock_|http|fd_pre|fd_readdir", name)], "no file, no network", asked)
    code, _, error, *_ = Wasmtime(module).call("helm_plugin_main", '{"extraArgs":["render","x"]}')
    check(code == 2 and "names a file" in error, "a host can read the native exit code", f"{code} {error}")
    shown = on_terminal([helm4, "khorovod", "render"], place.env)
    check("the spec comes on standard input" in shown, "a terminal is not waited for", shown)


def post_renderer(place, helm4, module):
    """The post-renderer in WebAssembly works with manifests as text, and reports that Helm does not send them so."""
    stream = f"# theirs\na:   1\n---\n{JOB}---\n# {chr(0x1F600)} last"
    host = Extism(module, 8192, KHOROVOD_SSH_SEED=SEED)
    expected = place.run("khorovod", "post-render", "--set", "workers.gpus=2", stdin=stream).stdout
    check(expected and host.post_render(stream, "--set", "workers.gpus=2") == expected, "Extism: foreign documents pass")
    for manifests, args, why in [
        ({}, [], "helm/helm#31832"),
        (None, [], "helm/helm#31832"),
        (JOB.replace("gpus", "gpu"), [], "error[unknown-field]"),
        (JOB, ["--ssh-seed", "x"], "names a file"),
        (JOB, ["x"], "unexpected argument 'x'"),
    ]:
        try:
            check(False, f"Extism: fails: {why}", host.post_render(manifests, *args))
        except extism.Error as error:
            check(why in str(error), f"Extism: {why}", str(error))
    try:
        check(False, "no key is made", Extism(module, 8192).post_render(JOB))
    except extism.Error as error:
        check("no-ssh-keys" in str(error), "no seed, no keys", str(error))
    chart = ROOT / "tests/helm/chart"
    ran = place.run(helm4, "template", "mnist", chart, "--post-renderer", "khorovod-post-render-wasm")
    check(ran.returncode == 1 and not ran.stdout, "real Helm 4 fails", ran.stdout)
    check("helm/helm#31832" in ran.stderr and "panic" not in ran.stderr, "and names the issue of Helm", ran.stderr)
    check("khorovod-post-render, which" in ran.stderr, "and what to use instead", ran.stderr)


def installs(place, work, helm4, registry):
    """Installs the plugins from a folder, a signed archive and a registry."""
    plugins, archive = work / "plugins", work / "plugins/packages/khorovod-0.1.0.tgz"
    name = {"helm4-command": "khorovod", "helm4-post-renderer": "khorovod-post-render"}
    name["helm4-post-renderer-wasm"] = "khorovod-post-render-wasm"
    check(sorted(path.name for path in archive.parent.glob("*.prov")) == sorted(f"{n}-0.1.0.tgz.prov" for n in name.values()), "all are signed")
    works = lambda: place.run(helm4, "khorovod", "explain", "--codes").stdout == place.run("khorovod", "explain", "--codes").stdout
    gone = lambda: place.run(helm4, "plugin", "uninstall", "khorovod").returncode == 0
    done = place.run(helm4, "plugin", "install", archive, "--keyring", work / "public.gpg")
    check(done.returncode == 0 and "Signed by: khorovod test" in done.stdout, "a signed archive installs", done.stdout + done.stderr)
    check(works() and gone(), "and works")
    tampered = work / "tampered" / archive.name
    tampered.parent.mkdir()
    tampered.write_bytes(archive.read_bytes() + b"\0")
    shutil.copy(f"{archive}.prov", f"{tampered}.prov")
    done = place.run(helm4, "plugin", "install", tampered, "--keyring", work / "public.gpg")
    check(done.returncode != 0, "an archive that was changed does not", done.stdout)
    with Registry(registry, work) as address:
        push(address, archive)
        source = f"oci://{address}/plugins/khorovod:0.1.0"
        done = place.run(helm4, "plugin", "install", source, "--plain-http", "--keyring", work / "public.gpg")
        check(done.returncode == 0, "a registry's plugin installs", done.stderr)
        check(works() and gone(), "and works")
        done = place.run(helm4, "plugin", "install", source, "--plain-http", "--keyring", work / "none.gpg")
        check(done.returncode != 0, "one with an unknown signature does not", done.stdout)
    for folder in name:
        done = place.run(helm4, "plugin", "install", plugins / folder)
        check(done.returncode == 0, f"the folder {folder} installs", done.stderr)
    listed = place.run(helm4, "plugin", "list").stdout
    check(all(re.search(rf"^{n}\s", listed, re.M) for n in name.values()), "all are listed", listed)


class Registry:
    """A registry for the duration of a test."""

    def __init__(self, program, work):
        self.program, self.config = program, work / "registry.yaml"
        self.config.write_text(
            f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {work}/registry}}}}\n"
            "http: {addr: '127.0.0.1:0'}\n"
        )
        self.log = work / "registry.log"

    def __enter__(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen([self.program, "serve", self.config], stdout=log, stderr=log)
        for _ in range(200):
            for port in ports(self.process.pid):
                return f"127.0.0.1:{port}"
            time.sleep(0.1)
        raise RuntimeError(f"the registry does not listen: {self.log.read_text()}")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def ports(pid):
    """The ports on which a process listens."""
    links = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()]
    sockets = {match.group(1) for link in links if (match := re.match(r"socket:\[(\d+)\]", link))}
    for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[3] == "0A" and fields[9] in sockets:
            yield int(fields[1].split(":")[1], 16)


def push(address, archive):
    """Pushes a plugin to a registry, like `oras push`."""

    def send(method, url, data=b"", kind="application/octet-stream"):
        request = urllib.request.Request(url, data, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request) as answer:
            return answer.headers.get("Location")

    def blob(data, kind, **more):
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        place = send("POST", f"{base}/blobs/uploads/")
        send("PUT", f"{place}{'&' if '?' in place else '?'}digest={digest}", data)
        return {"mediaType": kind, "digest": digest, "size": len(data), **more}

    base = f"http://{address}/v2/plugins/khorovod"
    kind, layer = "application/vnd.helm.plugin.v1+json", "application/vnd.oci.image.layer.v1.tar"
    files = [archive, archive.with_name(archive.name + ".prov")]
    manifest = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": kind,
        "config": blob(b"{}", "application/vnd.oci.empty.v1+json"),
        "layers": [
            blob(path.read_bytes(), layer, annotations={"org.opencontainers.image.title": path.name}) for path in files
        ],
    }
    send("PUT", f"{base}/manifests/0.1.0", json.dumps(manifest).encode(), manifest["mediaType"])


@contextlib.contextmanager
def served(folder):
    """A web server for a folder, which sends archives with the content type that Helm 3 requires."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        extensions_map = {".tgz": "application/gzip"}

        def __init__(self, *args):
            super().__init__(*args, directory=folder)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def helm3(place, plugins, helm, binary):
    """`helm khorovod …` and the post-renderer of Helm 3."""
    done = place.run(helm, "plugin", "install", ROOT / "plugin/helm3")
    check(done.returncode != 0 and "khorovod is not in PATH" in done.stderr, "Helm 3: without khorovod it prints an error", done.stderr)
    place.run(helm, "plugin", "uninstall", "khorovod")
    with served(plugins / "packages") as url:
        done = place.run(helm, "plugin", "install", f"{url}/khorovod-helm3-0.1.0.tgz")
    check(done.returncode == 0, "Helm 3: the archive installs", done.stderr)
    installed = Path(place.run(helm, "env", "HELM_PLUGINS").stdout.strip()) / "khorovod-helm3"
    ran = place.run(helm, "khorovod", "--version")
    check(installed.is_dir() and ran.stdout == place.run(binary, "--version").stdout, "Helm 3: and runs", ran.stderr)
    place.run(helm, "plugin", "uninstall", "khorovod")
    done = place.run(helm, "plugin", "install", plugins / "khorovod-helm3")
    check(done.returncode == 0, "Helm 3: the folder installs", done.stderr)
    expected = expected_objects(ROOT / "examples/smallest")
    for args in (["render", ROOT / "examples/smallest/job.yaml"], ["render", "-"]):
        ran = place.run(helm, "khorovod", *args, stdin=JOB)
        check(ran.stdout == expected, f"Helm 3: {args}", ran.stderr)
    ran = place.run(helm, "khorovod", "render", "-", stdin=JOB.replace("gpus", "gpu"))
    check(ran.returncode == 1 and "unknown-field" in ran.stderr and not ran.stdout, "Helm 3: errors", ran.stderr)
    ran = place.run(helm, "khorovod", "render", "--frob")
    check(ran.returncode == 2, "Helm 3: exit codes are khorovod's", ran.stderr)
    chart = ROOT / "tests/helm/chart"
    ours = place.run(helm, "template", "mnist", chart, "--post-renderer", installed / "post-render", "--post-renderer-args", "--no-keys")
    other = ["--post-renderer", binary, "--post-renderer-args", "post-render", "--post-renderer-args", "--no-keys"]
    other = place.run(helm, "template", "mnist", chart, *other)
    check(ours.stdout == other.stdout != "", "Helm 3: the plugin's post-renderer", ours.stderr)


def objects(text):
    """Objects by kind and name."""
    found = [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]
    by_name = {(document["kind"], document["metadata"]["name"]): document for document in found}
    assert len(by_name) == len(found)
    return by_name


def kustomized(place, kustomize, work):
    """The KRM function in Kustomize."""
    build = lambda folder: place.run(kustomize, "build", "--enable-alpha-plugins", "--enable-exec", folder)
    folder = ROOT / "plugin/kustomize"
    made = build(folder / "generator")
    plain = place.run("khorovod", "render", "-q", folder / "generator/job.yaml").stdout
    expected = objects(plain)
    for item in expected.values():
        item["metadata"].setdefault("annotations", {}).pop("config.kubernetes.io/function", None)
        for meta in (item["metadata"], item["spec"]["template"]["metadata"] if item["kind"] in ("Job", "StatefulSet") else {}):
            meta.setdefault("annotations", {})["team"] = "vision"
    check(made.returncode == 0 and objects(made.stdout) == expected, "a generator", made.stderr)
    done = build(folder / "transformer")
    job = folder / "transformer/job.yaml"
    expected = objects(place.run("khorovod", "render", "-q", "-n", "ml", "--set", "workers.replicas=2", job).stdout)
    found = objects(done.stdout)
    theirs = found.pop(("ConfigMap", "theirs"), {})
    check(theirs.get("data") == {"answer": "yes", "mode": "0777"}, "theirs pass a transformer", done.stdout)
    check(found == expected, "a transformer, after a patch", done.stderr)
    for example in EXAMPLES:
        place_of = work / "kustomize" / example.name
        place_of.mkdir(parents=True)
        (place_of / "job.yaml").write_text((example / "job.yaml").read_text())
        shutil.copy(folder / "transformer/khorovod.yaml", place_of)
        (place_of / "kustomization.yaml").write_text("resources: [job.yaml]\ntransformers: [khorovod.yaml]\n")
        ran = build(place_of)
        check(ran.returncode == 0, f"{example.name} under Kustomize", ran.stderr)
        # Kustomize sorts keys, and the order of variables is a part of a run.
        job = yaml.safe_dump(yaml.load(place_of.joinpath("job.yaml").read_text(), yaml.CSafeLoader))
        expected = place.run("khorovod", "render", "-q", stdin=job).stdout
        same = ran.stdout and objects(ran.stdout) == objects(expected)
        check(same, f"{example.name} under Kustomize has the same objects", ran.stdout[:2000])
    wrong = work / "wrong"
    shutil.copytree(folder / "generator", wrong)
    (wrong / "job.yaml").write_text((wrong / "job.yaml").read_text().replace("gpus", "gpu"))
    ran = build(wrong)
    check(ran.returncode == 1 and not ran.stdout, "Kustomize stops at a mistake", ran.stdout)
    check("error[unknown-field]" in ran.stderr and "did you mean `gpus`" in ran.stderr, "and shows it", ran.stderr)


def argocd(place, work, helm4):
    """The Argo CD plugin in the docs, run like Argo CD's server runs it."""
    page = (ROOT / "docs/gitops.md").read_text()
    blocks = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", page, re.M | re.S)]
    plugins = {block["metadata"]["name"]: block["spec"] for block in blocks if block.get("kind") == "ConfigManagementPlugin"}
    check(sorted(plugins) == ["khorovod", "khorovod-helm"], "the docs have both plugins", plugins)
    app = work / "app"
    app.mkdir()
    (app / "job.yaml").write_text(JOB)
    (app / "theirs.yaml").write_text("a: 1\n")
    env = {"ARGOCD_APP_NAMESPACE": "ml", "ARGOCD_APP_NAME": "mnist"}
    ran = place.run(*plugins["khorovod"]["generate"]["command"], cwd=app, **env)
    check(objects(place.run("khorovod", "render", "-q", "-n", "ml", stdin=JOB).stdout).items() <= objects_of(ran.stdout), "Argo CD: a folder", ran.stderr)
    check("a: 1\n" in ran.stdout, "Argo CD: other documents of a folder pass", ran.stderr)
    (place.home / "bin/helm").symlink_to(helm4)
    ran = place.run(*plugins["khorovod-helm"]["generate"]["command"], cwd=ROOT / "tests/helm/chart", **env)
    check("kind: StatefulSet" in ran.stdout and "namespace: ml" in ran.stdout, "Argo CD: a chart", ran.stderr)
    (app / "job.yaml").write_text(JOB.replace("gpus", "gpu"))
    ran = place.run(*plugins["khorovod"]["generate"]["command"], cwd=app, **env)
    check(ran.returncode != 0 and "unknown-field" in ran.stderr and not ran.stdout, "Argo CD: a mistake", ran.stdout)


def objects_of(text):
    """The objects of a stream that also contains other documents."""
    parts = [part for part in re.split(r"^---\n", text, flags=re.M) if "kind:" in part]
    return objects("---\n".join(parts)).items()


def cost(place, helm4, module):
    """Checks the size of the module and the time of a call."""
    size = module.stat().st_size
    check(size <= LARGEST, f"the module has {size} bytes, {LARGEST} are allowed")

    def seconds(*args, **more):
        start = time.perf_counter()
        done = place.run(helm4, *args, **more)
        assert done.returncode == 0, done.stderr
        return time.perf_counter() - start

    pairs = [(seconds("version"), seconds("khorovod", "render", stdin=JOB)) for _ in range(15)]
    ratio = statistics.median(wasm / helm for helm, wasm in pairs)
    times = [statistics.median(column) * 1000 for column in zip(*pairs)]
    print(f"module {size} bytes; helm version {times[0]:.0f} ms, helm khorovod render {times[1]:.0f} ms, {ratio:.2f} times")
    check(ratio <= SLOWEST, f"helm khorovod render takes {ratio:.2f} times helm version, {SLOWEST} are allowed")


def oldest(place, plugins, helm):
    """The oldest Helm that supports such plugins accepts khorovod's."""
    for name in ("helm4-command", "helm4-post-renderer"):
        done = place.run(helm, "plugin", "install", plugins / name)
        check(done.returncode == 0, f"the oldest Helm 4: {name} installs", done.stderr)
    expected = expected_objects(ROOT / "examples/smallest")
    ran = place.run(helm, "khorovod", "render", stdin=JOB)
    check(ran.stdout == expected, "the oldest Helm 4: the command", ran.stderr)
    ran = place.run(helm, "khorovod", "validate", stdin=JOB.replace("gpus", "gpu"))
    check(ran.returncode == 1 and "unknown-field" in ran.stderr, "the oldest Helm 4: errors", ran.stderr)
    ran = place.run(helm, "template", "mnist", ROOT / "tests/helm/chart", "--post-renderer", "khorovod-post-render", "--post-renderer-args", "--no-keys")
    check("kind: StatefulSet" in ran.stdout, "the oldest Helm 4: the post-renderer", ran.stderr)


def main(binary, work, helm_3, helm4, oldest_helm4, kustomize, registry):
    work = Path(work)
    module = work / "plugins/helm4-command/plugin.wasm"
    place = Place(work / "home", binary)
    installs(place, work, helm4, registry)
    cost(place, helm4, module)
    same_everywhere(place, helm4, module)
    command(place, helm4, module)
    post_renderer(place, helm4, module)
    oldest(Place(work / "home40", binary), work / "plugins", oldest_helm4)
    helm3(Place(work / "home3"), work / "plugins", helm_3, binary)
    kustomized(place, kustomize, work)
    argocd(place, work, helm4)
    print("\n".join([*check.wrong, f"{check.count - len(check.wrong)} passed, {len(check.wrong)} failed"]))
    return bool(check.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
