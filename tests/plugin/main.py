"""Tests the plugins and the KRM function: main.py BINARY WORK HELM3 HELM4 OLDEST_HELM4 KUSTOMIZE REGISTRY

WORK contains `plugins`, the output of plugin/build.sh, and the keyrings that signed them.
"""

import contextlib
import hashlib
import http.server
import json
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import yaml
from hosts import Wasmtime

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/dist")]
from checks import check, on_terminal  # noqa: E402
from registry import Registry  # noqa: E402

SEED = (ROOT / "examples/ssh.seed").read_text().strip()
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/job.yaml"))
JOB = (ROOT / "examples/smallest/job.yaml").read_text()
SCRIPTS = ROOT / "src/compiler/pods/scripts"
# The limits: the module's size, and the ratio of the times of `helm khorovod render` and `helm version`.
LARGEST, SLOWEST = 2_000_000, 2.5


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
        ran = place.run("khorovod", "krm", stdin=as_list(job))
        # The comment before the document is removed with it, and the bytes are those of its objects.
        check(ran.stdout == as_list(expected), f"{name}: the KRM function", ran.stderr)
        planned = place.run(helm4, "khorovod", "plan", stdin=job).stdout
        expected = (folder / "plan.txt").read_text().replace("khorovod render job.yaml", "helm khorovod render < job.yaml")
        check(planned == expected, f"{name}: the plan under Helm 4", planned)


def of_helm(said):
    """Messages with the plugin's command in hints."""
    return said.replace("`khorovod explain ", "`helm khorovod explain ")


def command(place, helm4, module):
    """`helm khorovod …` in WebAssembly prints the same as the native binary."""
    wasm = lambda *args, **more: place.run(helm4, "khorovod", *args, **more)
    native = lambda *args, **more: place.run("khorovod", *args, **more)
    wrong = JOB.replace("gpus: 8", "gpu: 8").replace("replicas: 4", "replicas: -1")
    for args in (["render"], ["validate"], ["plan"], ["render", "--set", "workers.x=1"], ["render", "--color", "always"]):
        found, expected = wasm(*args, stdin=wrong), native(*args, stdin=wrong)
        check(found.returncode == expected.returncode == 1 and not found.stdout, f"{args} fails", found.stdout)
        said = found.stderr.removesuffix("Error: plugin error: the spec has problems\n")
        same = said == of_helm(expected.stderr)
        check(said != found.stderr and same, f"{args} prints the reason", found.stderr + expected.stderr)
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
        check(said == of_helm(expected.stderr) and bool(found.returncode) == bool(expected.returncode), f"{args}: stderr", said)
    large = "---\n".join(JOB.replace("name: mnist", f"name: m{index}") for index in range(3000))[: 2 << 20]
    for args, stdin, env, why in [
        (["render"], JOB, {"KHOROVOD_SSH_SEED": ""}, "set `KHOROVOD_SSH_SEED`, or set `spec.ssh.secretName` to the name of a Secret; `helm "),
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


def namespaces(place, helm, plugin):
    """`helm khorovod -n` sets the namespace of jobs without one, and reports a job that has another."""
    ours = lambda *args, stdin=JOB, **env: place.run(helm, "khorovod", *args, stdin=stdin, **env)
    plain, expected = (place.run("khorovod", "render", *args, stdin=JOB).stdout for args in ([], ["-n", "ml"]))
    check("\n  namespace: ml\n" in expected, "khorovod render -n", expected)
    for what, found in [
        ("-n", ours("render", "-n", "ml")),
        ("--namespace=", ours("render", "--namespace=ml")),
        ("-n before the command", place.run(helm, "-n", "ml", "khorovod", "render", stdin=JOB)),
        ("HELM_NAMESPACE", ours("render", HELM_NAMESPACE="ml")),
    ]:
        check(found.stdout == expected and not found.stderr, f"{plugin}: {what}", found.stdout[:500] + found.stderr)
    config = place.home / "kubeconfig"
    config.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": [
        {"name": "a", "context": {"cluster": "a", "namespace": "ml"}}], "clusters": [{"name": "a", "cluster": {"server": "https://a.invalid"}}]}))
    check(ours("render", KUBECONFIG=config).stdout == expected, f"{plugin}: the namespace of the context")
    check(ours("render").stdout == plain, f"{plugin}: no namespace")
    own = JOB.replace("  name: mnist\n", "  name: mnist\n  namespace: team\n")
    found = ours("render", "-n", "ml", stdin=own)
    check(found.stdout == place.run("khorovod", "render", "-q", stdin=own).stdout, f"{plugin}: the spec's namespace is kept", found.stdout[:500])
    check("note[other-namespace]" in found.stderr and "team" in found.stderr, f"{plugin}: and noted", found.stderr)
    found = ours("plan", "-n", "ml", "--set", "metadata.namespace=ml", stdin=own)
    check("other-namespace" not in found.stderr and found.returncode == 0, f"{plugin}: --set moves a job", found.stderr)


def installs(place, work, helm4, registry):
    """Installs the plugins from a folder, a signed archive and a registry."""
    plugins, archive = work / "plugins", work / "plugins/packages/khorovod-0.1.0.tgz"
    name = {"helm4-command": "khorovod", "helm4-post-renderer": "khorovod-post-render"}
    signed = sorted(path.name for path in archive.parent.glob("*.prov"))
    expected = ["khorovod-0.1.0.tgz.prov", "khorovod-post-render-0.1.0.tgz.prov", "training-job-0.1.0.tgz.prov"]
    check(signed == expected, "all packages for Helm 4 are signed", signed)
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


def merged(spec, change):
    """A copy of a map with the fields of another, and maps in it merged."""
    both = {key: merged(spec[key], change[key]) if isinstance(spec.get(key), dict) and isinstance(change[key], dict) else change[key] for key in change}
    return {**spec, **both}


def spec_transformers(place, build, work):
    """Each transformer of Kustomize changes the spec before khorovod reads it."""
    source = ROOT / "plugin/kustomize/transformer"
    plain = yaml.safe_load((source / "job.yaml").read_text())
    as_map = merged(plain, {"spec": {"image": {"name": plain["spec"]["image"], "pullPolicy": "Always"}}})
    launcher = merged(plain, {"spec": {"launcher": {"kind": "mpirun", "image": "ghcr.io/acme/launcher:1.0"}}})
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"gpus": "4", "rate": "0.1"}}
    image = lambda **new: {"images": [{"name": "ghcr.io/acme/mnist", **new}]}
    text, map_ = {"configurations": ["image.yaml"]}, {"configurations": ["image-map.yaml"]}
    moved = {"newName": "mirror.invalid/mnist", "newTag": "2.0"}
    source_of = lambda key: {"kind": "ConfigMap", "name": "settings", "fieldPath": f"data.{key}"}
    target = lambda path: [{"select": {"kind": "TrainingJob"}, "fieldPaths": [path]}]
    rated = merged(plain, {"spec": {"env": {"RATE": "1"}}})
    for what, job, kustomization, change in [
        ("a tag", plain, text | image(newTag="2.0"), {"spec": {"image": "ghcr.io/acme/mnist:2.0"}}),
        ("a digest", plain, text | image(digest="sha256:" + "0" * 64), {"spec": {"image": "ghcr.io/acme/mnist@sha256:" + "0" * 64}}),
        ("another name", plain, text | image(**moved), {"spec": {"image": "mirror.invalid/mnist:2.0"}}),
        ("the image in a map", as_map, map_ | image(**moved), {"spec": {"image": {"name": "mirror.invalid/mnist:2.0"}}}),
        ("the launcher's image", launcher, {"configurations": ["launcher.yaml"], "images": [{"name": "ghcr.io/acme/launcher", "newTag": "2.0"}]},
         {"spec": {"launcher": {"image": "ghcr.io/acme/launcher:2.0"}}}),
        ("replicas", plain, text | {"replicas": [{"name": "mnist", "count": 6}]}, {"spec": {"workers": {"replicas": 6}}}),
        ("namePrefix and nameSuffix", plain, {"namePrefix": "dev-", "nameSuffix": "-2"}, {"metadata": {"name": "dev-mnist-2"}}),
        ("namespace", plain, {"namespace": "team"}, {"metadata": {"namespace": "team"}}),
        ("labels", plain, {"labels": [{"pairs": {"team": "vision"}}]}, {"metadata": {"labels": {"team": "vision"}}}),
        ("labels in selectors", plain, {"commonLabels": {"team": "vision"}}, {"metadata": {"labels": {"team": "vision"}}}),
        ("annotations", plain, {"commonAnnotations": {"a/b": "c"}}, {"metadata": {"annotations": {"a/b": "c"}}}),
        ("a patch", plain, {"patches": [{"patch": "kind: TrainingJob\napiVersion: khorovod.dev/v1alpha1\nmetadata: {name: mnist}\nspec: {workers: {gpus: 4}}"}]},
         {"spec": {"workers": {"gpus": 4}}}),
        ("replacements", rated, {"replacements": [
            {"source": source_of("gpus"), "targets": target("spec.workers.gpus")},
            {"source": source_of("rate"), "targets": target("spec.env.RATE")}]}, {"spec": {"workers": {"gpus": 4}, "env": {"RATE": "0.1"}}}),
    ]:
        folder = work / what.replace(" ", "-")
        folder.mkdir(parents=True)
        for name in ("khorovod.yaml", "image.yaml", "image-map.yaml"):
            shutil.copy(source / name, folder)
        (folder / "job.yaml").write_text(yaml.safe_dump(job))
        (folder / "launcher.yaml").write_text("images: [{path: spec/launcher/image, kind: TrainingJob}]\n")
        (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
        whole = {"resources": ["job.yaml", "settings.yaml"], "transformers": ["khorovod.yaml"], **kustomization}
        (folder / "kustomization.yaml").write_text(yaml.safe_dump(whole))
        ran = build(folder)
        found = objects(ran.stdout) if ran.returncode == 0 else {}
        for name in [name for name in found if name[1].removeprefix("dev-").startswith("settings")]:
            del found[name]
        expected = objects(place.run("khorovod", "render", "-q", stdin=yaml.safe_dump(merged(job, change))).stdout)
        check(found == expected != {}, f"Kustomize: {what}", f"{ran.stderr}{differing(found, expected)}")
    # The wrong configuration is an error of Kustomize.
    (work / "a-tag/job.yaml").write_text(yaml.safe_dump(as_map))
    ran = build(work / "a-tag")
    check(ran.returncode != 0 and "spec/image" in ran.stderr, "Kustomize: image.yaml refuses a map", ran.stderr)
    (work / "the-image-in-a-map/job.yaml").write_text(yaml.safe_dump(plain))
    ran = build(work / "the-image-in-a-map")
    check(ran.returncode != 0 and "spec/image/name" in ran.stderr, "Kustomize: image-map.yaml refuses a text", ran.stderr)


def differing(found, expected):
    """The first object that differs between two maps of objects."""
    for name in sorted({*found, *expected}):
        if found.get(name) != expected.get(name):
            return f"{name}:\n{json.dumps(found.get(name))}\n{json.dumps(expected.get(name))}"
    return ""


def kustomized(place, kustomize, work):
    """The KRM function in Kustomize."""
    build = lambda folder: place.run(kustomize, "build", "--enable-alpha-plugins", "--enable-exec", folder)
    folder = ROOT / "plugin/kustomize"
    made = build(folder / "generator")
    # Kustomize sorts keys, and the spec that is stored with the objects has this order.
    in_order = lambda path: yaml.safe_dump(yaml.load(path.read_text(), yaml.CSafeLoader))
    plain = place.run("khorovod", "render", "-q", stdin=in_order(folder / "generator/job.yaml")).stdout
    expected = objects(plain)
    for item in expected.values():
        item["metadata"].setdefault("annotations", {}).pop("config.kubernetes.io/function", None)
        for meta in (item["metadata"], item["spec"]["template"]["metadata"] if item["kind"] in ("Job", "StatefulSet") else {}):
            meta.setdefault("annotations", {})["team"] = "vision"
    check(made.returncode == 0 and objects(made.stdout) == expected, "a generator", made.stderr)
    done = build(folder / "transformer")
    job = in_order(folder / "transformer/job.yaml")
    settings = [f"--set={setting}" for setting in ("workers.replicas=2", "workers.gpus=4", "image=ghcr.io/acme/mnist:1.5")]
    expected = objects(place.run("khorovod", "render", "-q", "-n", "ml", *settings, stdin=job).stdout)
    found = objects(done.stdout)
    theirs = found.pop(("ConfigMap", "theirs"), {})
    check(theirs.get("data") == {"answer": "yes", "mode": "0777"}, "theirs pass a transformer", done.stdout)
    check(found == expected, "a transformer, after Kustomize's own", done.stderr)
    spec_transformers(place, build, work / "transformers")
    for example in EXAMPLES:
        place_of = work / "kustomize" / example.name
        place_of.mkdir(parents=True)
        (place_of / "job.yaml").write_text((example / "job.yaml").read_text())
        shutil.copy(folder / "transformer/khorovod.yaml", place_of)
        (place_of / "kustomization.yaml").write_text("resources: [job.yaml]\ntransformers: [khorovod.yaml]\n")
        ran = build(place_of)
        check(ran.returncode == 0, f"{example.name} under Kustomize", ran.stderr)
        expected = place.run("khorovod", "render", "-q", stdin=in_order(place_of / "job.yaml")).stdout
        same = ran.stdout and objects(ran.stdout) == objects(expected)
        check(same, f"{example.name} under Kustomize has the same objects", ran.stdout[:2000])
    wrong = work / "wrong"
    shutil.copytree(folder / "generator", wrong)
    (wrong / "job.yaml").write_text((wrong / "job.yaml").read_text().replace("gpus", "gpu"))
    ran = build(wrong)
    check(ran.returncode == 1 and not ran.stdout, "Kustomize stops at a mistake", ran.stdout)
    check("error[unknown-field]" in ran.stderr and "did you mean `gpus`" in ran.stderr, "and shows it", ran.stderr)


def argocd(place, work, helm4):
    """The plugins for Argo CD, run like Argo CD's server runs them."""
    (place.home / "bin/helm").symlink_to(helm4)

    def generate(name, folder, **parameters):
        spec = yaml.safe_load((ROOT / f"plugin/argocd/{name}.yaml").read_text())["spec"]
        env = {"ARGOCD_APP_NAMESPACE": "ml", "ARGOCD_APP_NAME": "mnist", "KUBE_VERSION": "1.34.3", "KUBE_API_VERSIONS": "v1,apps/v1"}
        announced = [parameter["name"] for parameter in spec["parameters"]["static"]]
        for parameter, value in parameters.items():
            assert parameter.replace("_", "-") in announced
            values = {f"_{at}": item for at, item in enumerate(value)} if isinstance(value, list) else {"": value}
            env |= {f"PARAM_{parameter.upper()}{end}": item for end, item in values.items()}
        for step in ("init", "generate"):
            if step in spec:
                ran = place.run(*spec[step]["command"], *spec[step].get("args", []), cwd=folder, **env)
        return ran

    folder(place, work / "app", lambda **parameters: generate("folder", work / "app", **parameters))
    chart(work / "argocd", lambda **parameters: generate("chart", work / "argocd/chart", **parameters))


def folder(place, app, generate):
    """A folder of specs and other manifests in Argo CD."""
    (app / "overlays").mkdir(parents=True)
    # Not every editor ends a file with a line break.
    (app / "job.yaml").write_text(JOB.rstrip())
    (app / "theirs.yaml").write_text("a: 1\n")
    (app / "overlays/small.yaml").write_text("spec: {workers: {replicas: 3, gpus: 1}}\n")
    native = lambda *args: objects(place.run("khorovod", "render", "-q", "-n", "ml", *args, stdin=JOB).stdout).items()
    ran = generate()
    check(native() <= objects_of(ran.stdout), "Argo CD: a folder", ran.stderr)
    check("a: 1\n" in ran.stdout, "Argo CD: other documents of a folder pass", ran.stderr)
    ran = generate(overlays=["overlays/small.yaml"], set=["workers.replicas=2", "env.NAME='a b $HOME'"])
    expected = native("--overlay", app / "overlays/small.yaml", "--set", "workers.replicas=2", "--set", "env.NAME='a b $HOME'")
    check(expected <= objects_of(ran.stdout), "Argo CD: overlays and settings of a folder", ran.stderr)
    (app / "job.yaml").write_text(JOB.replace("gpus", "gpu"))
    ran = generate()
    check(ran.returncode != 0 and "unknown-field" in ran.stderr and not ran.stdout, "Argo CD: a mistake", ran.stdout)


def chart(place, generate):
    """A chart with a dependency in Argo CD."""
    shutil.copytree(ROOT / "tests/helm/chart", place / "chart")
    dependency = place / "other"
    (dependency / "templates").mkdir(parents=True)
    (dependency / "Chart.yaml").write_text("{apiVersion: v2, name: other, version: 0.1.0}\n")
    (dependency / "values.yaml").write_text("word: own\n")
    (dependency / "templates/a.yaml").write_text("{apiVersion: v1, kind: ConfigMap, metadata: {name: other}, data: {word: {{ .Values.word }}}}\n")
    with (place / "chart/Chart.yaml").open("a") as file:
        file.write("dependencies: [{name: other, version: 0.1.0, repository: 'file://../other'}]\n")
    (place / "chart/production.yaml").write_text("gpus: 3\nother: {word: file}\n")

    def shown(**parameters):
        ran = generate(**parameters)
        gpus = re.findall(r'nvidia.com/gpu: "(\d+)"', ran.stdout)
        return {"namespaces": set(re.findall(r"^  namespace: (.*)", ran.stdout, re.M)), "gpus": set(gpus),
                "word": re.findall(r"word: (\w+)", ran.stdout)}, ran.stderr

    for what, parameters, gpus, word in [
        ("a chart", {}, "8", "own"),
        ("a file of values", {"values_files": ["production.yaml"]}, "3", "file"),
        ("values", {"values_files": ["production.yaml"], "values": "gpus: 4"}, "4", "file"),
        ("parameters", {"values": "gpus: 4", "set": ["gpus=5", "other.word=set"]}, "5", "set"),
    ]:
        found, said = shown(**parameters)
        check(found == {"namespaces": {"ml"}, "gpus": {gpus}, "word": [word]}, f"Argo CD: {what}", f"{found} {said}")
    ran = generate(set=["gpus=-1"])
    check(ran.returncode != 0 and "out-of-range" in ran.stderr and not ran.stdout, "Argo CD: a mistake in a chart", ran.stderr)
    ran = generate(values_files=["missing.yaml"])
    check(ran.returncode != 0 and "missing.yaml" in ran.stderr and not ran.stdout, "Argo CD: a missing file of values", ran.stderr)


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
    """The oldest Helm that supports such plugins accepts khorovod's, and passes its namespace."""
    for name in ("helm4-command", "helm4-post-renderer"):
        done = place.run(helm, "plugin", "install", plugins / name)
        check(done.returncode == 0, f"the oldest Helm 4: {name} installs", done.stderr)
    expected = expected_objects(ROOT / "examples/smallest")
    ran = place.run(helm, "khorovod", "render", stdin=JOB)
    check(ran.stdout == expected, "the oldest Helm 4: the command", ran.stderr)
    ran = place.run(helm, "khorovod", "validate", stdin=JOB.replace("gpus", "gpu"))
    check(ran.returncode == 1 and "unknown-field" in ran.stderr, "the oldest Helm 4: errors", ran.stderr)
    namespaces(place, helm, "the oldest Helm 4")
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
    namespaces(place, helm4, "Helm 4")
    oldest(Place(work / "home40", binary), work / "plugins", oldest_helm4)
    place3 = Place(work / "home3")
    helm3(place3, work / "plugins", helm_3, binary)
    (place3.home / "bin/khorovod").symlink_to(Path(binary).resolve())
    namespaces(place3, helm_3, "Helm 3")
    kustomized(place, kustomize, work)
    argocd(place, work, helm4)
    print("\n".join([*check.wrong, f"{check.count - len(check.wrong)} passed, {len(check.wrong)} failed"]))
    return bool(check.wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
