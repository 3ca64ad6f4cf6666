"""The tests have a Kerberos of their own: MIT's KDC out of Debian's packages, with tickets of two minutes.

It has a configuration of its own (``KRB5_CONFIG``), needs no root and leaves nothing in the system.
"""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.ports import free_port

REALM = "EXAMPLE.COM"
PACKAGES = Path(__file__).resolve().parents[1] / "rigs" / "kerberos" / "packages"
FETCH_TIMEOUT_S = 900
CALL_TIMEOUT_S = 60
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
[realms]
 {realm} = {{
  kdc = 127.0.0.1:{port}
 }}
"""
KDC_CONF = """[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {realm} = {{
  database_name = {directory}/principals
  key_stash_file = {directory}/stash
  max_life = {life_s}s
  max_renewable_life = 600s
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
 }}
[dbmodules]
 db_module_dir = {plugins}
[logging]
 kdc = FILE:{directory}/kdc.log
"""


@cache
def packages() -> Path:
    """Return the folder of MIT Kerberos.  Raises CalledProcessError if it cannot be fetched."""
    done = subprocess.run([PACKAGES], check=True, timeout=FETCH_TIMEOUT_S, stdout=subprocess.PIPE, text=True)
    return Path(done.stdout.strip())


class Kdc:
    """Holds a running KDC with the realm EXAMPLE.COM."""

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
        names = {"realm": REALM, "port": self.port, "directory": directory, "life_s": TICKET_S}
        self.krb5_conf.write_text(KRB5_CONF.format(**names))
        (directory / "kdc.conf").write_text(KDC_CONF.format(**names, plugins=libraries / "krb5" / "plugins" / "kdb"))
        self._run("sbin/kdb5_util", "create", "-s", "-r", REALM, "-P", "master")

    def serve(self) -> subprocess.Popen[bytes]:
        """Start it, and wait until it listens."""
        command = [str(self._root / "usr/sbin/krb5kdc"), "-n", "-r", REALM]
        process = subprocess.Popen(command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        pause = threading.Event()
        give_up_at = time.monotonic() + START_TIMEOUT_S
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                return process
            assert process.poll() is None, "krb5kdc ended by itself"
            assert time.monotonic() < give_up_at, "krb5kdc does not listen"
            pause.wait(0.05)

    def keytab(self, *principals: str, realm: str = REALM) -> Path:
        """Make principals, with keys in a file of their own; return it."""
        path = self.directory / f"{_file_name(principals[0])}.keytab"
        for principal in principals:
            self._run("sbin/kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}@{realm}")
            self._run("sbin/kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {principal}@{realm}")
        return path

    def login(self, principal: str, keytab: Path, *, life_s: int = TICKET_S) -> dict[str, str]:
        """Get a ticket as ``kinit`` does; return what to set in the environment of those who use it."""
        ticket_cache = self.directory / f"cache-{_file_name(principal)}-{life_s}"
        self._run("bin/kinit", "-l", f"{life_s}s", "-c", f"FILE:{ticket_cache}", "-k", "-t", str(keytab), principal)
        return self.environment | {"KRB5CCNAME": f"FILE:{ticket_cache}"}

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
