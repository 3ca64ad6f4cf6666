from __future__ import annotations

import json
import stat
from base64 import b64decode
from pathlib import Path

from cryptography import x509

from yodel.local.auth import prepare_credentials, write_kubeconfig


def test_credentials_are_made_once_private_and_used_again(tmp_path: Path) -> None:
    first = prepare_credentials(tmp_path)
    certificate = first.tls_certificate.read_bytes()
    second = prepare_credentials(tmp_path)
    assert second == first
    assert second.tls_certificate.read_bytes() == certificate
    for path in (tmp_path / "credentials").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert first.token not in repr(first)


def test_other_addresses_renew_the_server_certificate_only(tmp_path: Path) -> None:
    first = prepare_credentials(tmp_path)
    authority, certificate = first.ca_certificate.read_bytes(), first.tls_certificate.read_bytes()
    second = prepare_credentials(tmp_path, hosts=("127.0.0.9", "here.example"))
    assert second.ca_certificate.read_bytes() == authority
    assert second.tls_certificate.read_bytes() != certificate
    parsed = x509.load_pem_x509_certificate(second.tls_certificate.read_bytes())
    names = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["here.example"]
    parsed.verify_directly_issued_by(x509.load_pem_x509_certificate(authority))


def test_kubeconfig_is_private_and_complete(tmp_path: Path) -> None:
    credentials = prepare_credentials(tmp_path)
    path = tmp_path / "sub" / "kubeconfig"
    write_kubeconfig(path, server="https://127.0.0.1:1", ca_certificate=credentials.ca_certificate, token="t")
    config = json.loads(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    cluster = config["clusters"][0]["cluster"]
    assert b64decode(cluster["certificate-authority-data"]) == credentials.ca_certificate.read_bytes()
    assert (cluster["server"], config["users"][0]["user"]["token"]) == ("https://127.0.0.1:1", "t")
