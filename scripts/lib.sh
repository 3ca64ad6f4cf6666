# Words shared by the scripts of this folder; sourced, never run.  Needs `set -euo pipefail` in the caller.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/yodel
uv_version=0.13.8

say() { printf '==> %s\n' "$*" >&2; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
is_root() { [ "$(id -u)" = 0 ]; }

# Holds what one script fetches against a second one that runs at the same moment; at most 40 minutes.
lock() {
  mkdir -p "$cache"
  exec 9>"$cache/$1.lock"
  flock -w 2400 9 || die "another setup holds $cache/$1.lock"
}

# apt_install PACKAGE...: as root only; refreshes the lists once when a package is not in them.
apt_install() {
  is_root && command -v apt-get >/dev/null || return 1
  say "apt-get install $*"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq)
  "${apt[@]}" install -y --no-install-recommends "$@" >&2 && return 0
  "${apt[@]}" update >&2 && "${apt[@]}" install -y --no-install-recommends "$@" >&2
}

# The newest Python of at least 3.11 that is installed; prints its path.
find_python() {
  local name
  for name in python3.11 python3.12 python3.13 python3.14 python3 python; do
    command -v "$name" >/dev/null || continue
    "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
    "$name" -c 'import sys; print(sys.executable)'
    return 0
  done
  return 1
}

# uv, from PATH or from PyPI into the cache; prints its path.
find_uv() {
  command -v uv && return 0
  local home=$cache/uv-$uv_version
  if [ ! -x "$home/bin/uv" ]; then
    say "uv $uv_version from PyPI"
    rm -rf "$home"
    new_venv "$home"
    "$home/bin/pip" install --quiet "uv==$uv_version" >&2
  fi
  printf '%s\n' "$home/bin/uv"
}

# new_venv DIR: a virtual environment with pip; names the Debian package when Python comes without the means to make one.
new_venv() {
  local python package
  python=$(find_python)
  package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
  "$python" -c 'import venv, ensurepip' 2>/dev/null || apt_install "$package" ||
    die "this Python cannot make virtual environments: apt-get install $package"
  "$python" -m venv "$1" >&2
}

# java_version HOME: the major version (8, 11, 17, …), nothing when HOME/bin/java does not run.
java_version() {
  "$1/bin/java" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1
}
