#!/bin/sh
# Builds the Debian package target/deb/@PACKAGE@_VERSION_ARCHITECTURE.deb.
set -eu

cd "$(dirname "$0")/.."
version=$(sed -n '/^version = /{s/[^"]*"\([^"]*\)".*/\1/p;q}' Cargo.toml)
architecture=$(dpkg --print-architecture)
root=target/deb/root
rm -rf "$root"
packaging/files.sh "$root"
mkdir "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<END
Package: @PACKAGE@
Version: $version
Architecture: $architecture
Maintainer: ${DEBFULLNAME:-nobody} <${DEBEMAIL:-nobody@localhost}>
Depends: pcp
Section: utils
Priority: optional
Description: agent @NAME@ of Performance Co-Pilot
 Metrics below @NAME@.
END
# At .NeedInstall the start of pmcd runs Install. Remove takes the agent out of pmcd's configuration.
cat >"$root/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
if [ "$1" = configure ]; then
    touch /var/lib/pcp/pmdas/@NAME@/.NeedInstall
    if [ -d /run/systemd/system ]; then
        systemctl try-restart pmcd.service || true
    fi
fi
END
cat >"$root/DEBIAN/prerm" <<'END'
#!/bin/sh
set -e
if [ "$1" = remove ]; then
    rm -f /var/lib/pcp/pmdas/@NAME@/.NeedInstall
    if grep -qs '^@NAME@[[:space:]]' /etc/pcp/pmcd/pmcd.conf; then
        (cd /var/lib/pcp/pmdas/@NAME@ && ./Remove </dev/null >/dev/null 2>&1) || true
    fi
fi
END
chmod 755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
dpkg-deb --root-owner-group --build "$root" "target/deb/@PACKAGE@_${version}_$architecture.deb"
