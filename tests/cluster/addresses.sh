# shellcheck shell=bash
# The addresses of a cluster, by FAMILY: 4 is IPv4; 6 is IPv6 without IPv4; 64 is IPv6, and IPv4 for outgoing traffic only; 46 is
# both. `FAMILIES` are the families by which pods reach each other; servers have an address of the first. Sourced.
# shellcheck disable=SC2034

case $FAMILY in
46) FAMILIES='4 6' ;;
*) FAMILIES=${FAMILY:0:1} ;;
esac

# The addresses of a family: of the control plane, of a node and its pods, and of hosts outside.
home_of() { (($1 == 6)) && echo fd00:100::1 || echo 10.100.0.1; }
node_of() { (($1 == 6)) && echo "fd00:100::$((10 + $2))" || echo "10.100.0.$((10 + $2))"; }
pods_of() { (($1 == 6)) && echo "fd00:101:0:$2::/64" || echo "10.101.$2.0/24"; }
services_of() { (($1 == 6)) && echo fd00:96::/112 || echo 10.96.0.0/16; }
anywhere_of() { (($1 == 6)) && echo ::/0 || echo 0.0.0.0/0; }

# join_network FAMILY ADDRESS INTERFACE: adds the address to the interface, and forwards packets for other hosts.
join_network() {
    if (($1 == 6)); then
        ip addr add "$2/64" dev "$3" nodad
        echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
    else
        ip addr add "$2/16" dev "$3"
        echo 1 >/proc/sys/net/ipv4/ip_forward
    fi
}

export FAMILIES

home=$(home_of "${FAMILIES%% *}")
if [[ $FAMILIES == 6 ]]; then
    home_url=[$home] service=fd00:96::1 reverse=ip6.arpa table=ip6
else
    home_url=$home service=10.96.0.1 reverse=in-addr.arpa table=ip
fi
