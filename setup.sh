#!/usr/bin/env bash
# Installs the servers that Larder starts for itself when a target names no host, and the caches of other languages, as
# packages of Debian 12.
#
# Larder builds and runs without them; a target whose server is missing then says which package brings it. Run this
# as root or as a user with sudo, as often as you like: what is there already stays as it is. No server is left
# running and none is enabled, because Larder starts a private one for each run.
set -euo pipefail

# One line, in the order of docs/engines.md; a test compares it with the engines.
packages=(memcached redis-server perl libcache-cache-perl libcache-mmap-perl libcache-fastmmap-perl libcache-memcached-fast-perl)

policy=/usr/sbin/policy-rc.d

say() { printf 'setup: %s\n' "$*"; }
fail() {
  printf 'setup: %s\n' "$*" >&2
  exit 1
}

# The version of a package; nothing where it is not installed.
version() {
  dpkg-query --show --showformat='${db:Status-Abbrev}${Version}' "$1" 2>/dev/null | sed -n 's/^ii //p' || true
}

missing=()
for package in "${packages[@]}"; do
  version=$(version "$package")
  if [[ $version ]]; then
    say "$package $version is installed already"
  else
    missing+=("$package")
  fi
done
[[ ${#missing[@]} -gt 0 ]] || exit 0

command -v apt-get >/dev/null || fail "no apt-get here: install ${missing[*]} by your system's own means"
as_root=()
if [[ $EUID -ne 0 ]]; then
  command -v sudo >/dev/null || fail "installing ${missing[*]} needs root: run this as root, or install sudo"
  as_root=(sudo)
fi

# A package starts its server as soon as it is installed, unless this file says no. One that is there already is
# somebody's, and stays.
started="no server was started"
if [[ -e $policy || -L $policy ]]; then
  started="$policy, which was there before, decided whether a server was started"
else
  trap '"${as_root[@]}" rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee "$policy" >/dev/null
  "${as_root[@]}" chmod 755 "$policy"
fi

apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" update || fail "apt-get update failed: see above"
"${apt[@]}" install --yes --no-install-recommends "${missing[@]}" >/dev/null ||
  fail "apt-get could not install ${missing[*]}: see above"

for package in "${missing[@]}"; do
  say "installed $package $(version "$package")"
  for service in $(dpkg --listfiles "$package" | sed -n 's|^/etc/init\.d/||p'); do
    # It knows systemd's units too.
    "${as_root[@]}" update-rc.d "$service" disable >/dev/null || fail "could not keep $service from starting at boot"
  done
done
say "$started; none will be at the next boot"
