"""The tests have a Kerberos of their own: MIT's KDC out of Debian's packages, with tickets of two minutes.

It has a configuration of its own (``KRB5_CONFIG``), needs no root and leaves nothing in the system.
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.ports import free_port, is_listening

REALM = "EXAMPLE.COM"
OTHER_REALM = "OTHER.COM"
"""Its principals get tickets for services of REALM, as REALM trusts it."""
PACKAGES = Path(__file__).resolve().parents[1] / "rigs" / "kerberos" / "packages"
FETCH_TIMEOUT_S = 900
CALL_TIMEOUT_S = 60
SCRIPT_TIMEOUT_S = 600
START_TIMEOUT_S = 60
TICKET_S = 120

KRB5_CONF = """[libdefaults]
 default_realm = {realm}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 clockskew = 1
 kdc_timesync = 0
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
 {other} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 localhost = {realm}
[capaths]
 {other} = {{
  {realm} = .
 }}
"""
KDC_CONF = """[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
{realms}
[dbmodules]
 db_module_dir = {plugins}
[logging]
 kdc = FILE:{directory}/kdc.log
"""
KDC_REALM = """ {realm} = {{
  database_name = {directory}/principals-{realm}
  key_stash_file = {directory}/stash-{realm}
  max_life = {life_s}s
  max_renewable_life = 600s
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
 }}"""


@cache
def packages() -> Path:
    """Return the folder of MIT Kerberos.  Raises CalledProcessError if it cannot be fetched."""
    done = subprocess.run([PACKAGES], check=True, timeout=FETCH_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


class Kdc:
    """Holds a running KDC with the realms EXAMPLE.COM and OTHER.COM."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.port = directory, free_port()
        self.krb5_conf = directory / "krb5.conf"
        self._root = packages()
        libraries = self._root / "usr" / "lib" / f"{platform.machine()}-linux-gnu"
        self._environment = {
            **os.environ,
            "KRB5_CONFIG": str(self.krb5_conf),
            "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
            "LD_LIBRARY_PATH": f"{libraries}:{self._root / 'lib' / libraries.name}",
        }
        self.krb5_conf.write_text(KRB5_CONF.format(realm=REALM, other=OTHER_REALM, port=self.port))
        realms = [KDC_REALM.format(realm=r, directory=directory, life_s=TICKET_S) for r in (REALM, OTHER_REALM)]
        names = {"port": self.port, "directory": directory, "plugins": libraries / "krb5" / "plugins" / "kdb"}
        (directory / "kdc.conf").write_text(KDC_CONF.format(realms="\n".join(realms), **names))
        for realm in (REALM, OTHER_REALM):
            self._run("sbin/kdb5_util", "create", "-s", "-r", realm, "-P", "master")
            trust = f"addprinc -pw shared krbtgt/{REALM}@{OTHER_REALM}"
            self._run("sbin/kadmin.local", "-r", realm, "-q", trust)

    def serve(self) -> subprocess.Popen[bytes]:
        """Start it, and wait until it listens."""
        command = [str(self._root / "usr/sbin/krb5kdc"), "-n", "-r", REALM, "-r", OTHER_REALM]
        process = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pause = threading.Event()
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while not is_listening(self.port):
            assert process.poll() is None, "krb5kdc ended by itself"
            assert time.monotonic() < give_up_at, "krb5kdc does not listen"
            pause.wait(0.05)
        return process

    def keytab(self, *principals: str, realm: str = REALM) -> Path:
        """Make principals, with keys in a file of their own; return it."""
        path = self.directory / f"{_file_name(principals[0])}.keytab"
        for principal in principals:
            self._run("sbin/kadmin.local", "-r", realm, "-q", f"addprinc -randkey {principal}@{realm}")
            self._run("sbin/kadmin.local", "-r", realm, "-q", f"ktadd -k {path} {principal}@{realm}")
        return path

    def run_script(self, script: str, functions: str = "") -> str:
        """Run commands of an administrator's in bash, with ``functions`` for those that are not here; return what they
        printed."""
        kadmin = f'kadmin() {{ "{self._root}/usr/sbin/kadmin.local" -r {REALM} "$@"; }}'
        command = ["bash", "-euc", "\n".join((kadmin, functions, script))]
        done = subprocess.run(
            command,
            env=self._environment,
            timeout=SCRIPT_TIMEOUT_S,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert done.returncode == 0, f"{script}: {done.stdout}"
        return done.stdout

    def login(self, principal: str, keytab: Path, *, life_s: int = TICKET_S) -> dict[str, str]:
        """Get a ticket as ``kinit`` does; return what to set in the environment of those who use it."""
        ticket_cache = self.directory / f"cache-{_file_name(principal)}-{life_s}"
        self._run("bin/kinit", "-l", f"{life_s}s", "-c", f"FILE:{ticket_cache}", "-k", "-t", str(keytab), principal)
        return self.environment | {"KRB5CCNAME": f"FILE:{ticket_cache}"}

    @property
    def kinit(self) -> Path:
        """Return the program."""
        return self._root / "usr" / "bin" / "kinit"

    @property
    def environment(self) -> dict[str, str]:
        """Return variables that say where Kerberos is configured, and name no ticket."""
        return {"KRB5_CONFIG": str(self.krb5_conf), "KRB5CCNAME": f"FILE:{self.directory}/none"}

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._root / "usr" / program), *arguments]
        done = subprocess.run(command, env=self._environment, timeout=CALL_TIMEOUT_S, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stderr or done.stdout}"


def _file_name(principal: str) -> str:
    return principal.replace("/", "_").replace("\\", "")


@contextlib.contextmanager
def running_kdc() -> Iterator[Kdc]:
    """Start a KDC below a temporary directory; end it and remove all of it."""
    with tempfile.TemporaryDirectory(prefix="yodel-kdc-") as directory:
        kdc = Kdc(Path(directory))
        process = kdc.serve()
        try:
            yield kdc
        finally:
            process.terminate()
            process.wait(START_TIMEOUT_S)
