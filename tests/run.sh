#!/usr/bin/env bash
# Runs the given stages in order and prints how long each took. Fails if a stage failed.
#
#   tests/run.sh format lint rust
#
# A stage passes only if something ran. If nothing can run, it returns 77, through `tests/note.sh left-out`. The last lines list
# each stage that did not run in whole or in part, with the reason, and each case that passed only on a second try.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tests/tools.sh

left_out() { tests/note.sh left-out "$1"; }
partly() { tests/note.sh partly "$1"; }

format() { cargo fmt --all --check; }

# The crates that a stage lints or tests at once, so that each is compiled once: the command with its library, and the page's Rust.
crates=(-p khorovod -p khorovod-compiler -p khorovod-import -p khorovod-web -p khorovod-web-import -p khorovod-web-timeline -p khorovod-web-texts -p khorovod-web-keys
    -p khorovod-web-targets -p khorovod-web-wire)

lint() { cargo clippy --locked --no-deps "${crates[@]}" --all-targets -- -D warnings; }

# The library without the command line. Its code must not panic, except in an `expect` that explains why it cannot fail.
library() {
    cargo clippy --locked --no-default-features -- -D warnings -D clippy::unwrap_used -D clippy::panic -D clippy::todo \
        -D clippy::unimplemented -D clippy::get_unwrap &&
        RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --no-default-features --features overlays,show --quiet
}

# The oldest Rust that Cargo.toml declares.
msrv() { tests/msrv.py; }

# Also that the page's TypeScript has the same types as its Rust.
rust() {
    local shell
    for shell in zsh fish; do
        need "$shell" "$shell" || partly "completions: $shell is not installed"
    done
    # `cargo run` would compile the example again, with the features of one crate only.
    need shellcheck shellcheck && cargo test --locked "${crates[@]}" &&
        "${CARGO_TARGET_DIR:-target}/debug/examples/render" examples/smallest/job.yaml 2>/dev/null | grep -q '^kind: StatefulSet$' || return
    [[ -d ${KHOROVOD_CORPUS:-/nowhere} ]] ||
        partly "KHOROVOD_CORPUS does not name a folder with other people's files and with the operators' custom resources"
}

# The scripts of the repository. The stage `output` checks those of pods in their rendered form.
shell() { need shellcheck shellcheck && git ls-files '*.sh' .ci/run tests/blocks/bin tests/blocks/laptop tests/dist/stubs dist/asdf/bin image/check-image plugin/helm3/khorovod plugin/helm3/post-render ':!src' | xargs shellcheck -x; }

docs() {
    tests/docs.py && tests/monitoring.py && python3 -B tests/session/record.py && python3 -B bench/chaos/report.py --check &&
    python3 -B tests/cluster/released.py --check
}

# The alert rules with Prometheus' own tool.
alerts() {
    local tool
    tool=$(promtool) && tests/monitoring.py "$tool"
}

# The GitHub workflows, including those in docs/repository. This project's use actions by digest.
workflows() {
    local linter
    need shellcheck shellcheck && linter=$(actionlint) && git ls-files '*.github/workflows/*.yaml' | xargs "$linter" -no-color &&
        ! grep -nE 'uses:' .github/workflows/*.yaml | grep -vE '@[0-9a-f]{40} # v[0-9.]+$'
}

# The shell blocks of the docs that need no cluster, and the specs of the chaos bench and of the tests with an older version.
blocks() {
    local binary
    binary=$(debug_binary) && tests/blocks/blocks.py "$binary" && python3 -B tests/session/record.py "$binary" && python3 -B bench/chaos/specs.py "$binary" &&
        KHOROVOD=$binary python3 -B tests/cluster/against.py check
}

# The docs as a book: links, anchors, and results of its search.
book() {
    need node nodejs && make --no-print-directory book && tests/book/links.py target/book/html && node tests/book/search.mjs target/book/html
}

# The hosted site, built from the book, with an earlier version: links, descriptions for search engines, accessibility and sizes in Chromium,
# the Helm repository, and the schemas in a validator.
site() {
    need node nodejs && need npm npm && need chromium chromium && need go golang version && make --no-print-directory web book && tests/site/run.sh
}

# The commands of docs/start.md on a test cluster.
start() { binary=$(shipped) && tests/blocks/start.sh "$binary"; }

# Import cycles, the order of the phases, and what the core touches. Part of the stage `rust` too.
layers() { cargo test --locked --quiet "${crates[@]}" --test layers; }
# Plain English, by the rules in tests/prose.
prose() {
    local linter
    linter=$(vale) && tests/prose/prose.py "$linter"
}


# Installs the MPIs and PyTorch for the ranks of jobs on this machine.
need_ranks() {
    need mpirun openmpi-bin && need mpichversion mpich && need /usr/bin/python3 python3-torch -c 'import torch'
}

# debug_binary: prints the path of the debug binary. The first call builds it, unless the stage `rust` has: only its features differ, and a
# second build takes 25 s. Later calls do not, because they could wait for a stage that compiles beside them.
debug_binary() {
    local code=1
    if [[ ! -e $results/built ]]; then
        [[ ! -e $results/rust ]] || read -r code _ <"$results/rust"
        ((code == 0)) || cargo build --quiet --locked >&2 || return
        touch "$results/built"
    fi
    realpath "${CARGO_TARGET_DIR:-target}/debug/khorovod"
}

# Whole runs on this machine, with ssh and Open MPI. With QUICK=1, without the cases that only `make test-all` runs.
runtime() {
    if [ "$(id -u)" = 0 ]; then
        need ssh openssh-client -V && need test openssh-server -x /usr/sbin/sshd &&
            need ip iproute2 -V && need curl curl && need /usr/bin/python3 python3-yaml -c 'import yaml' &&
            need_ranks || return
    fi
    tests/runtime/progress/lines.py || return
    # Both mostly wait. They do not run beside the cases, because their times assume a machine with little load.
    local agents code=0
    tests/runtime/agents/test.py >"$results/agents.log" 2>&1 &
    agents=$!
    tests/runtime/download/test.py || code=1
    wait "$agents" || code=1
    cat "$results/agents.log"
    ((code == 0)) && binary=$(debug_binary) && KHOROVOD=$binary tests/runtime/run.sh
}

# Jobs on this machine without Kubernetes, as a user without rights.
local-runs() {
    if [ "$(id -u)" = 0 ]; then
        need ssh openssh-client -V && need test openssh-server -x /usr/sbin/sshd && need_ranks || return
    fi
    binary=$(debug_binary) && KHOROVOD=$binary tests/local/run.sh
}

# check-image on images that lack something. The test creates the images, which requires root.
image() {
    if [ "$(id -u)" != 0 ]; then
        left_out "creating root file systems requires root"
        return
    fi
    need busybox busybox-static --help && need ssh openssh-client -V && need test openssh-server -x /usr/sbin/sshd &&
        need curl curl && tests/image/check-image.sh
}

# The worker image: builds it and compares it with docs/images.md.
worker() {
    local archive
    archive=$(worker_image) && tests/image/worker.sh "$archive"
}

# The preflight and the benchmark: in jobs with faults, and with simulated GPUs.
preflight() {
    if [ "$(id -u)" = 0 ]; then
        need_ranks && need faketime faketime && need nft nftables && need tc iproute2 -V || return
    fi
    python3 tests/preflight/checks.py && binary=$(debug_binary) && KHOROVOD=$binary CASES=tests/preflight tests/runtime/run.sh
}

# Horovod with Open MPI 4, with TensorFlow and with MXNet. The stage `runtime` tests it in the worker image, with Open MPI 5 and
# PyTorch.
horovod() {
    local cases
    mapfile -t cases < <(sed -n 's/^prepare_\(.*\)() { make_horovod; }$/\1/p' tests/runtime/cases/launchers.sh)
    HOROVOD=debian tests/runtime/run.sh "${cases[@]}" &&
        HOROVOD=tensorflow tests/runtime/run.sh horovodrun_by_mpi horovodrun_by_gloo horovodrun_elastic script_with_horovod &&
        HOROVOD=mxnet tests/runtime/run.sh horovodrun_by_mpi horovodrun_by_gloo
}

# Batch scripts on a test cluster of Slurm, including those of Horovod.
slurm() {
    if [ "$(id -u)" = 0 ]; then need_ranks || return; fi
    HOROVOD=debian tests/slurm/run.sh
}

# Every example and the ends of runs on a test cluster, and a strict validation of every spec. The first run on a machine takes half
# an hour more to build the cluster: WITHIN=40 skips the stage if the stages before took 40 minutes.
cluster() {
    if [ "$(id -u)" != 0 ]; then
        left_out "a cluster creates namespaces, mounts and bridges, which requires root"
    elif ((SECONDS > 60 * ${WITHIN:-1440})); then
        left_out "the stages before took more than $WITHIN minutes; tests/run.sh cluster runs it alone"
    else
        tests/cluster/test.sh --quick && accepted 1.34.3
    fi
}

# Other Kubernetes versions than that of `cluster`: the oldest supported one for each shape of jobs, and newer ones.
versions() {
    local version
    for version in 1.26.13 1.31.4 1.36.3 1.37.2; do
        KUBERNETES=$version tests/cluster/test.sh --quick && accepted "$version" || return
    done
    KUBERNETES=1.36.3 GANGS=1 tests/cluster/test.sh 'native-gang*' && KUBERNETES=1.37.2 GANGS=1 tests/cluster/test.sh 'native-gang*'
}

# Jobs on clusters whose pods have IPv6 only, IPv6 and IPv4 for outgoing traffic, and both families.
ipv6() {
    FAMILY=6 tests/cluster/test.sh && FAMILY=64 tests/cluster/test.sh &&
        FAMILY=46 tests/cluster/test.sh example-smallest example-horovod-gpu 'example-*elastic' example-torchrun 'host-network-*' \
            '*-in-both-shapes' 'ssh-*'
}

# The slow tests of the cluster, mostly faults, a job that prints one gibibyte, outages of three minutes, cases of more than five, and the
# specs of the tests for an older version.
faults() {
    tests/cluster/test.sh --long && MEGABYTES=1024 OUTAGE=180 tests/runtime/run.sh prints_much outlasts_outages torchrun_outlasts_outages &&
        CASES=tests/runtime/long tests/runtime/run.sh &&
        { tests/cluster/against.sh --render-only || (($? == 77)); }
}

# The examples for operators: validated with their published custom resources, and run by operators whose sources are available.
targets() {
    if [[ ! -d ${KHOROVOD_CORPUS:-/nowhere}/crds ]]; then
        left_out "KHOROVOD_CORPUS does not name a folder whose crds/ has the custom resources of JobSet, Trainer, Volcano and the MPI Operator"
        return
    fi
    KHOROVOD_CORPUS=$(realpath "$KHOROVOD_CORPUS")
    export KHOROVOD_CORPUS
    cargo test --locked --test targets && KHOROVOD=$(shipped) NODES=0 tests/cluster/up.sh tests/cluster/targets.py || return
    if [[ -z ${OPERATORS:-} ]]; then
        partly "no operator ran a job: OPERATORS does not name a folder with their sources"
        return
    fi
    tests/cluster/operators.sh "$OPERATORS"
}

# A job of 5,000 workers on a test cluster.
scale() { bench/scale.sh 5000; }

accepted() { KHOROVOD=$(shipped) NODES=0 KUBERNETES=$1 tests/cluster/up.sh tests/cluster/accept.py; }

# Compiles the published crate from the packages of its crates, so that no file is missing. `cargo package` would build each package by
# itself, with the crates that it needs: five builds instead of one check of three crates.
package() {
    local work crates=(compiler import) patches=() crate
    rm -rf "${CARGO_TARGET_DIR:-target}/package" && cargo package --locked --allow-dirty --no-verify --quiet && work=$(mktemp -d) || return
    for crate in "${CARGO_TARGET_DIR:-target}"/package/*.crate; do tar -xzf "$crate" -C "$work" || return; done
    for crate in "${crates[@]}"; do patches+=(--config "patch.crates-io.khorovod-$crate.path='$(echo "$work/khorovod-$crate"-[0-9]*)'"); done
    cargo check --manifest-path "$work"/khorovod-[0-9]*/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}" "${patches[@]}"
    local code=$?
    rm -rf "$work"
    return "$code"
}

# The rendered examples in parsers and validators of other languages.
output() {
    need shellcheck shellcheck && need python3 python3-venv -m ensurepip --version && need go golang version &&
        binary=$(shipped) && tests/output/run.sh "$binary"
}

# Jobs in queues before the rules of Kueue's webhook, which is built from its Go module.
kueue() {
    local judge
    need go golang version && binary=$(shipped) || return
    judge=${tools_cache:?}/kueue-$(cat tests/kueue/{main.go,go.mod,go.sum} | sha256sum | cut -c1-16)
    if [[ ! -x $judge ]]; then
        (cd tests/kueue && CGO_ENABLED=0 go build -trimpath -o "$judge.new" .) && mv "$judge.new" "$judge" || return
    fi
    tests/kueue/run.py "$binary" "$judge"
}

# The manifests in the Go modules that the stages before have downloaded, through the post-renderer.
identity() { need go golang version && binary=$(shipped) && python3 tests/identity.py "$binary" "$(go env GOMODCACHE)"; }

# The Python package, with the oldest and the newest Python here, and its types.
python() { binary=$(debug_binary) && tests/python/run.sh "$binary"; }

# Every package: built, published and installed, by the steps of the release workflow.
dist() {
    if [ "$(id -u)" = 0 ]; then
        tests/dist/replay.sh
    else
        partly "nothing was published: to run the workflow as another user requires root"
        make --no-print-directory dist && tests/dist/run.sh target/dist
    fi
}

# The command compiles for macOS and Windows. To link and run it requires such a machine.
systems() {
    local target
    for target in aarch64-apple-darwin x86_64-pc-windows-gnu; do cross_cargo "$target" check --locked --quiet --bins || return; done
}

# The wheel for Linux on arm64, built here and run by QEMU: the command, the Python package, and the objects of an example. The
# program is not optimized, because the release is built on such a machine.
arm64() {
    local target=aarch64-unknown-linux-gnu work binary
    need qemu-aarch64-static qemu-user-static && need aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu &&
        need test libc6-dev-arm64-cross -e /usr/aarch64-linux-gnu/lib/libc.a && work=$(mktemp -d) || return
    cargo build --locked --quiet && binary=${CARGO_TARGET_DIR:-target}/debug/khorovod &&
        RUSTFLAGS=$(shipped_flags) CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CARGO_PROFILE_RELEASE_LTO=off \
            CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 cross "$target" dist/wheel.py "$target" "$work" &&
        dist/try_wheel.py "$target" "$work" qemu-aarch64-static "$binary"
    local code=$?
    rm -rf "$work"
    return "$code"
}

# Rendered objects, applied by Flux's controller on a test cluster.
gitops() {
    if [ "$(id -u)" != 0 ]; then
        left_out "a cluster creates namespaces, mounts and bridges, which requires root"
        return
    fi
    tests/gitops/run.sh
}

# The post-renderer with Helm 3 and Helm 4.
helm() { need go golang version && binary=$(shipped) && tests/helm/run.sh "$binary"; }

# The plugins for Helm 3 and Helm 4, including those in WebAssembly, and the KRM function in Kustomize.
plugin() {
    cargo clippy --locked -p khorovod-helm --all-targets -- -D warnings && need go golang version && binary=$(shipped) &&
        tests/plugin/run.sh "$binary"
}

# Completion, hover and problems in yaml-language-server.
editor() { binary=$(debug_binary) && tests/editor/run.sh "$binary"; }

# The extension for VS Code in code-server, with Chromium.
vscode() { need chromium chromium && make --no-print-directory web && tests/vscode/run.sh; }

# The preview page's TypeScript: format, lint, types and the unit tests that need no browser.
web-code() { web/check.sh; }

# The main cases of the preview page in Chromium, with modules that compile faster; the stage `web` has all cases.
web-quick() {
    local binary
    binary=$(debug_binary) && KHOROVOD=$binary WEB_PROFILE=web-quick ONLY=main tests/web/run.sh
}

# The preview page in Chromium. Types every example at three speeds.
web() { WHOLE=1 tests/web/run.sh; }

# The main cases of the preview page in Debian's Firefox, by WebDriver BiDi.
web-firefox() { BROWSER=firefox tests/web/run.sh; }

# The number of instructions of the binary, compared with bench/budget.json.
guard() { bench/run.sh guard; }

deny() { cargo_tool cargo-deny 0.20.2 && cargo deny --locked check licenses bans sources; }

# The newest dependencies that Cargo.toml allows, which `cargo install` without `--locked` chooses.
newest() (
    cargo_tool cargo-deny 0.20.2 && work=$(mktemp -d) || exit
    trap 'rm -rf "$work"' EXIT
    git ls-files -z '*.toml' '*.rs' | xargs -0 cp --parents -t "$work" && cd "$work" && cargo update --quiet && cargo deny check licenses bans sources
)

# Known vulnerabilities in the dependencies.
advisories() {
    cargo_tool cargo-deny 0.20.2 || return
    local said missing=() asked=0
    if timeout 20 git ls-remote --quiet https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
        cargo deny --locked check advisories || return
        asked=1
    else
        missing+=("the RustSec database on GitHub cannot be reached")
    fi
    if said=$(cd web && npm audit --package-lock-only 2>&1); then
        tail -n 1 <<<"$said"
        asked=1
    elif [[ $said == *"audit endpoint returned an error"* ]]; then
        missing+=("the npm registry does not support audits")
    else
        echo "$said"
        return 1
    fi
    ((${#missing[@]})) || return 0
    if ((asked)); then partly "${missing[*]}"; else left_out "${missing[0]}; ${missing[1]}"; fi
}

# The fuzz targets, each for some seconds. `cargo test` runs them only on known inputs.
fuzz() { need g++ g++ && FUZZ_SECONDS=${FUZZ_SECONDS:-5} && fuzz/run.sh "$FUZZ_SECONDS"; }

# The release, built twice in different folders.
reproducible() { need /usr/bin/rustc rustc-web && tests/reproducible.sh; }

# In a fresh clone, incremental compilation is off, because it costs a fifth of the build and nothing is built twice. Compiled
# dependencies come from the clone before.
fresh=''
if [[ -z ${CARGO_TARGET_DIR:-} && ! -d target ]]; then
    fresh=1
    export CARGO_INCREMENTAL=0
    if [[ -d $(kept_crates) ]]; then cp -a "$(kept_crates)" target; fi
fi

# Linking the release binary keeps one CPU busy for two minutes: it runs in parallel with the stages that compile.
if [[ " $* " == *" output "* ]]; then
    # Runs in its own process group, so that it can be killed with its children.
    set -m
    (renice -n 10 "$BASHPID" && shipped) >/dev/null 2>&1 &
    set +m
    ahead=$!
fi

# These stages only compile. With BESIDE=1, they run at the lowest priority beside the stages whose cases mostly wait, from `runtime` on.
# No stage after `runtime` may build in target/debug, because cargo would wait there for a compiler of low priority, and none of these
# stages may install a package.
compiling=(lint library msrv package deny)

results=$(mktemp -d) || exit
trap '[[ -z ${ahead:-} ]] || kill -- "-$ahead" 2>/dev/null; [[ -z ${beside:-} ]] || kill -- "-$beside" 2>/dev/null; rm -rf "$results"' EXIT

# run_stage STAGE: runs a stage. Writes its exit code and its tenths of a second to $results/STAGE, and its notes beside it.
run_stage() {
    local start code=0
    local -x RUN_NOTES=$results/$1.notes
    printf '\n==> %s\n' "$1"
    start=$(date +%s%N)
    : >"$RUN_NOTES"
    "$1" </dev/null || code=$?
    echo "$code $((($(date +%s%N) - start) / 100000000))" >"$results/$1"
}

now=() later=()
for stage in "$@"; do
    if [[ ${BESIDE:-} && " $* " == *" runtime "* && " ${compiling[*]} " == *" $stage "* ]]; then later+=("$stage"); else now+=("$stage"); fi
done
for stage in "${now[@]}"; do
    if [[ $stage == runtime && ${#later[@]} -gt 0 ]]; then
        debug_binary >/dev/null
        printf '\nbeside the next stages: %s\n' "${later[*]}"
        set -m
        (
            renice -n 19 "$BASHPID" >/dev/null
            chrt --idle -p 0 "$BASHPID"
            for compiling in "${later[@]}"; do run_stage "$compiling"; done
        ) >"$results/beside.log" 2>&1 &
        set +m
        beside=$!
    fi
    run_stage "$stage"
done
if [[ ${beside:-} ]]; then
    # Nothing waits for cases any more. Only root may raise the priority.
    mapfile -t processes < <(pgrep -g "$beside")
    for process in "${processes[@]}"; do chrt --other -p 0 "$process"; done 2>/dev/null
    wait "$beside"
    cat "$results/beside.log"
fi

passed=0 partly=0 failed=() left=() report='' notes=''
for stage in "$@"; do
    read -r code took <"$results/$stage" || code=1 took=0
    case $code in
    0)
        verdict=passed passed=$((passed + 1))
        if grep -q '^left out' "$results/$stage.notes"; then verdict='in part' partly=$((partly + 1)); fi
        ;;
    77) verdict='left out' left+=("$stage") ;;
    *) verdict=FAILED failed+=("$stage") ;;
    esac
    report+=$(printf '%-12s %-8s %5d.%d s' "$stage" "$verdict" $((took / 10)) $((took % 10)))$'\n'
    notes+=$(sort -u "$results/$stage.notes" | sed "s/^/$stage: /")$'\n'
done

# These stages have built all dependencies.
if [[ $fresh && " $* " == *" lint "*" rust "*" output "* ]] && ((${#failed[@]} == 0)); then keep_crates; fi

printf '\n%s\n' "$report"
sed '/^$/d' <<<"$notes"
printf 'stages: %d passed, %d of them in part, %d failed, %d left out%s\n' \
    "$passed" "$partly" "${#failed[@]}" "${#left[@]}" "${left:+: ${left[*]}}"
((${#failed[@]} == 0))
