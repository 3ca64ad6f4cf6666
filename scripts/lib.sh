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

# unpack_debs DIR PACKAGE...: Debian packages' files without installing them, for those who are not root.
unpack_debs() {
  local work deb result=0 dir=$1
  shift
  command -v apt-get >/dev/null || return 1
  say "unpacking Debian's $*"
  work=$(mktemp -d)
  (cd "$work" && apt-get -qq download "$@" && mkdir -p "$dir" && for deb in ./*.deb; do dpkg -x "$deb" "$dir" || exit 1; done) >&2 || result=$?
  rm -rf "$work"
  return $result
}

# The Python that Yodel is set up with; prints its path.  YODEL_PYTHON, or the first on the PATH that is at most a tenth slower
# than the fastest there: builds of one version differ by a third, and their build flags do not show which is slow.
find_python() {
  local found
  if [ -n "${YODEL_PYTHON:-}" ]; then
    command -v "$YODEL_PYTHON" >/dev/null || die "YODEL_PYTHON: no such program: $YODEL_PYTHON"
    found=$(probe_python "$YODEL_PYTHON" 2>&1) || die "YODEL_PYTHON: $YODEL_PYTHON $found"
    printf '%s\n' "${found#* }"
    return
  fi
  found=$(pythons 2>/dev/null)
  [ -n "$found" ] || { apt_install python3 python3-venv && found=$(pythons 2>/dev/null); } || true
  [ -n "$found" ] || { pythons; die "Python 3.11 or newer is needed: apt-get install python3 python3-venv"; }
  fastest_python "$found"
}

# Each usable Python on the PATH once, in its order, as "VERSION PATH"; on stderr why others are not usable.
pythons() {
  local folder program found folders
  local -A seen=()
  IFS=: read -r -a folders <<<"$PATH"
  for folder in "${folders[@]}"; do
    for program in "$folder"/python3.1[1-9] "$folder"/python3 "$folder"/python; do
      [ -f "$program" ] && [ -x "$program" ] && [ -z "${seen[$(readlink -f "$program")]:-}" ] || continue
      seen[$(readlink -f "$program")]=1
      found=$(probe_python "$program" 2>&1) || { printf '%s %s\n' "$program" "$found" >&2; continue; }
      [ -z "${seen[$found]:-}" ] && printf '%s\n' "$found"
      seen[$found]=1
    done
  done
}

# probe_python PROGRAM: prints "VERSION PATH" of the interpreter behind a shim or a virtual environment; fails and says why when
# Yodel cannot run on it.  What lacks only Debian's -venv package is usable where that can be installed, or where uv does without
# it.  Python 2 reads it, too.
probe_python() {
  local venv=needed
  { is_root && command -v apt-get || command -v uv; } >/dev/null && venv=
  "$1" -E -s -c '
import os, sys
if sys.version_info < (3, 11):
    sys.exit("is Python %d.%d: 3.11 or newer is needed" % sys.version_info[:2])
import sysconfig
if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit("is another build than the CPython that requirements.lock has packages for")
try:
    import ssl, sqlite3
except ImportError as missing:
    sys.exit("was built incompletely: %s" % missing)
try:
    import venv, ensurepip
except ImportError:
    if sys.argv[1]:
        sys.exit("cannot make virtual environments: apt-get install python%d.%d-venv" % sys.version_info[:2])
print("%d.%d.%d" % sys.version_info[:3], os.path.realpath(sys._base_executable))
' "$venv"
}

# fastest_python LINES: of the lines of pythons, the path of the first that is at most a tenth slower than the fastest.  What was
# measured is kept until another set of programs is there.
fastest_python() {
  local key kept=$cache/python version path times=() time turn i fastest=0
  local -a versions=() paths=()
  while read -r version path; do versions+=("$version"); paths+=("$path"); done <<<"$1"
  key=$(stat -Lc '%n %s %Y' "${paths[@]}" | sha256sum | cut -d' ' -f1)
  if [ "$(head -n 1 "$kept" 2>/dev/null)" != "$key" ]; then
    for turn in 1 2 3; do
      for i in "${!paths[@]}"; do
        time=$(loop_us "${paths[$i]}")
        [ "$turn" != 1 ] && [ "${times[$i]}" -le "$time" ] || times[i]=$time
      done
    done
    for i in "${!times[@]}"; do [ "${times[$i]}" -ge "${times[$fastest]}" ] || fastest=$i; done
    for i in "${!times[@]}"; do [ $((times[i] * 10)) -gt $((times[fastest] * 11)) ] || break; done
    say "Python ${versions[$i]}, ${paths[$i]}"
    for turn in "${!times[@]}"; do
      [ "$turn" = "$i" ] || say "  $((times[turn] * 100 / times[i])) % of its time: ${versions[$turn]}, ${paths[$turn]}"
    done
    mkdir -p "$cache"
    printf '%s\n' "$key" "${paths[$i]}" >"$kept.$$"
    mv "$kept.$$" "$kept"
  fi
  tail -n 1 "$kept"
}

# loop_us PYTHON: the processor time of a fixed loop of dictionaries, objects and calls, µs; about 0.2 s.
loop_us() {
  "$1" -E -s -c '
import time

class Pair:
    __slots__ = ("key", "before")
    def __init__(self, key, before):
        self.key = key
        self.before = before

def loop(count):
    kept, total = {}, 0
    for number in range(count):
        kept[number & 255] = Pair(number, total)
        total += kept[number >> 1 & 255].key & 7
    return total

begin = time.process_time()
loop(800000)
print(round((time.process_time() - begin) * 1000000))
'
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
  python=$(find_python) || exit 1
  package=$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
  "$python" -c 'import venv, ensurepip' 2>/dev/null || apt_install "$package" ||
    die "this Python cannot make virtual environments: apt-get install $package"
  "$python" -m venv "$1" >&2
}

# java_version HOME: the major version (8, 11, 17, …), nothing when HOME/bin/java does not run.
java_version() {
  "$1/bin/java" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1
}
