#!/usr/bin/env bash
# exporters.sh: unpacks Debian's exporters, and three servers that they ask, into target/exporters/root. Nothing is installed and
# nothing starts; tests/comparison/exporters.rs runs them.
set -euo pipefail
cd "$(dirname "$0")/../../.."

readonly home=${CARGO_TARGET_DIR:-$PWD/target}/exporters
readonly packages=(
    prometheus prometheus-apache-exporter prometheus-bind-exporter prometheus-blackbox-exporter prometheus-frr-exporter
    prometheus-haproxy-exporter prometheus-ipmi-exporter prometheus-mysqld-exporter prometheus-nginx-exporter
    prometheus-node-exporter prometheus-postgres-exporter prometheus-process-exporter prometheus-pushgateway
    prometheus-redis-exporter prometheus-snmp-exporter prometheus-squid-exporter
    etcd-server haproxy nginx redis-server redis-tools
    # Libraries of these servers.
    libjemalloc2 liblua5.3-0 liblzf1 libopentracing-c-wrapper0 libopentracing1
)

stamp="${packages[*]}"
[ "$(cat "$home/stamp" 2>/dev/null)" != "$stamp" ] || exit 0
rm -rf "$home"
mkdir -p "$home/deb" "$home/root"
# apt-get downloads as another user.
chmod 777 "$home/deb"
download() { (cd "$home/deb" && apt-get download -q "${packages[@]}"); }
{ download || { apt-get update -q && download; }; } >"$home/apt.log" 2>&1 || {
    cat "$home/apt.log" >&2
    echo "exporters: apt-get could not download these packages of Debian 12" >&2
    exit 1
}
for package in "$home"/deb/*.deb; do
    dpkg-deb -x "$package" "$home/root"
done
rm -rf "$home/deb"
echo "$stamp" >"$home/stamp"
