# shellcheck shell=bash
# Where things are in a cluster, by FAMILY: 4; 6 as in clusters whose pods have no IPv4; 64, where it leads out only; 46, where
# pods have both. Sourced.
# shellcheck disable=SC2034

if [[ $FAMILY == 6* ]]; then
    home=fd00:100::1 home_url='[fd00:100::1]' bits=64 services=fd00:96::/112 service=fd00:96::1
    anywhere=::/0 reverse=ip6.arpa table=ip6 nodad=nodad
    node_address() { echo "fd00:100::$((10 + $1))"; }
    pods_of() { echo "fd00:101:0:$1::/64"; }
    forward() { echo 1 >/proc/sys/net/ipv6/conf/all/forwarding; }
else
    home=10.100.0.1 home_url=$home bits=16 services=10.96.0.0/16 service=10.96.0.1
    anywhere=0.0.0.0/0 reverse=in-addr.arpa table=ip nodad=''
    node_address() { echo "10.100.0.$((10 + $1))"; }
    pods_of() { echo "10.101.$1.0/24"; }
    forward() { echo 1 >/proc/sys/net/ipv4/ip_forward; }
fi
if [[ $FAMILY == 46 ]]; then
    services=$services,fd00:96::/112
    forward() { echo 1 | tee /proc/sys/net/ipv4/ip_forward >/proc/sys/net/ipv6/conf/all/forwarding; }
    also_node() { echo "fd00:100::$((10 + $1))"; }
    also_pods() { echo "fd00:101:0:$1::/64"; }
fi
