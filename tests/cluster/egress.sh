#!/usr/bin/env bash
# The second CNI plugin of a node if FAMILY is 64: gives a pod an IPv4 address for outgoing traffic only. Pods on other nodes
# have the same addresses, as on EKS with IPv6.
set -euo pipefail
conf=$(cat)
mkdir -p /run/egress
case $CNI_COMMAND in
ADD)
    n=2
    until mkdir "/run/egress/$n" 2>/dev/null; do ((++n < 255)); done
    touch "/run/egress/$n/$CNI_CONTAINERID"
    pod=$(basename "$CNI_NETNS") gateway=169.254.172.1
    ip link add "egress$n" type veth peer name v4if0 netns "$pod"
    ip addr add "$gateway/32" dev "egress$n"
    ip link set "egress$n" up
    ip route add "169.254.172.$n/32" dev "egress$n"
    ip -n "$pod" addr add "169.254.172.$n/22" dev v4if0 noprefixroute
    ip -n "$pod" link set v4if0 up
    ip -n "$pod" route add "$gateway" dev v4if0 scope link
    ip -n "$pod" route add 169.254.172.0/22 via "$gateway" dev v4if0
    ip -n "$pod" route add default via "$gateway" dev v4if0
    python3 -c 'import json, sys; json.dump(json.loads(sys.argv[1])["prevResult"], sys.stdout)' "$conf"
    ;;
DEL) for there in /run/egress/*/"$CNI_CONTAINERID"; do [[ ! -e $there ]] || rm -r "$(dirname "$there")"; done ;;
VERSION) echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.4.0"]}' ;;
esac
