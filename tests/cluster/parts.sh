# shellcheck shell=bash
# Provides the components of a cluster: builds Kubernetes and CoreDNS from their Go modules, once per version; the rest is from
# Debian. Sourced after tests/tools.sh, which sets the cache folder, with this folder as `here`.
# shellcheck disable=SC2154

kubernetes=1.34.3
coredns=1.12.4

# cluster_packages: installs containerd and the packages that the nodes need.
cluster_packages() {
    need containerd containerd && need runc runc && need test containernetworking-plugins -x /usr/lib/cni/ptp &&
        need etcd etcd-server && need ip iproute2 -V && need nft nftables && need unshare util-linux &&
        need openssl openssl version && need curl curl && need go golang version
}

# kubernetes_parts VERSION NAME...: builds programs into $tools_cache/kubernetes-VERSION.
kubernetes_parts() {
    local version=$1 home=$tools_cache/kubernetes-$1 missing=() name
    shift
    for name; do [[ -x $home/$name ]] || missing+=("$name"); done
    ((${#missing[@]})) || return 0
    echo "building Kubernetes $version (${missing[*]}): once, up to ten minutes"
    build_kubernetes "$version" "$home" "${missing[@]}"
}

build_kubernetes() (
    set -e
    version=$1 home=$2
    shift 2
    work=$(mktemp -d)
    trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
    cd "$work"
    go mod init cluster 2>/dev/null
    go mod edit -require="k8s.io/kubernetes@v$version"
    # Kubernetes builds these from its own repository; the published modules have their own versions.
    for module in $(published "k8s.io/kubernetes@v$version" go.mod | awk '$2 == "v0.0.0" { print $1 }'); do
        go mod edit -replace="$module=$module@v0${version#1}"
    done
    minor=${version#*.}
    stamp=k8s.io/component-base/version
    CGO_ENABLED=0 nice go build -mod=mod -trimpath -o bin/ \
        -ldflags "-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=1 -X $stamp.gitMinor=${minor%%.*}" \
        "${@/#/k8s.io/kubernetes/cmd/}"
    mkdir -p "$home"
    mv bin/* "$home/"
)

# coredns_program: prints the path of CoreDNS with the plugins that dns.go names.
coredns_program() { echo "$tools_cache/coredns-$coredns-$(sha256sum "$here/dns.go" | cut -c1-8)/coredns"; }

# Uses the Kubernetes libraries that are built anyway.
coredns_part() (
    program=$(coredns_program)
    [[ ! -x $program ]] || exit 0
    echo "building CoreDNS $coredns: once, a few minutes"
    set -e
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp "$here/dns.go" "$work/"
    cd "$work"
    go mod init dns 2>/dev/null
    go mod edit -require="github.com/coredns/coredns@v$coredns"
    for module in api apimachinery client-go; do go mod edit -replace="k8s.io/$module=k8s.io/$module@v0${kubernetes#1}"; done
    CGO_ENABLED=0 nice go build -mod=mod -trimpath -ldflags '-s -w' -o coredns .
    mkdir -p "${program%/*}"
    mv coredns "$program"
)

# cluster_parts VERSION NODES: provides all programs that up.sh starts.
cluster_parts() {
    cluster_packages && cluster_types && kubernetes_parts "$1" kube-apiserver kubectl || return
    (($2 == 0)) || { kubernetes_parts "$1" kube-controller-manager kube-scheduler kubelet && coredns_part; }
}

# The custom resources that some examples use, as their projects publish them.
cluster_types() {
    local home=$tools_cache/cluster-types-1
    [[ -d $home ]] && return
    mkdir -p "$home.new" &&
        published github.com/prometheus-operator/prometheus-operator@v0.75.0 \
            example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml >"$home.new/podmonitors.yaml" &&
        published sigs.k8s.io/scheduler-plugins@v0.31.8 \
            config/crd/bases/scheduling.x-k8s.io_podgroups.yaml >"$home.new/podgroups.yaml" &&
        mv "$home.new" "$home"
}

# module_folder MODULE@VERSION: prints the folder of a Go module.
module_folder() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

# published MODULE@VERSION FILE: prints a file of a Go module.
published() { cat "$(module_folder "$1")/$2"; }

# The controllers of JobSet and of Kubeflow Trainer, which needs JobSet.
jobset_module=sigs.k8s.io/jobset@v0.12.0
trainer_module=github.com/kubeflow/trainer/v2@v2.3.0
jobset_controller() { go_program jobset "${jobset_module#*@}" "${jobset_module%@*}"; }
trainer_controller() { go_program trainer-controller-manager "${trainer_module#*@}" "${trainer_module%@*}/cmd/trainer-controller-manager"; }

# under_test: exports the variables for tests of jobs, and builds what is missing: KHOROVOD, the program, by default the release
# binary; IMAGES, the archives for the nodes, by default the worker image of image/; IMAGE, the image of jobs.
under_test() {
    KHOROVOD=${KHOROVOD:-$(shipped)}
    IMAGES=${IMAGES:-$(worker_image)}
    export KHOROVOD IMAGES IMAGE=${IMAGE:-khorovod-worker:cpu} PYTHONDONTWRITEBYTECODE=1
}
