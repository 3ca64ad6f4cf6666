"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler on the host."""

from __future__ import annotations

import http.client
import json
import signal
import ssl
from pathlib import Path
from typing import Any

from tests.rigs.kubernetes.daemons import Daemons
from tests.rigs.kubernetes.layout import (
    HOST_ADDRESS,
    SECOND_SCHEDULERS,
    SERVICE_NETWORK,
    Home,
)

CALL_TIMEOUT_S = 10.0
API_SERVER = "kube-apiserver"
CONTROL_PLANE = ("kube-scheduler", "kube-controller-manager", API_SERVER, "etcd")
"""In the order in which they are ended."""
NODE_GRACE_S = 25
"""Until a silent node is NotReady; a real cluster's 40 s would only make the tests wait."""
TOLERATION_S = 10
"""Until its pods are evicted; 300 s elsewhere."""


class ControlPlane:
    def __init__(self, home: Home, daemons: Daemons, binaries: Path, etcd: Path) -> None:
        self._home, self._daemons, self._binaries, self._etcd = home, daemons, binaries, etcd

    def start_etcd(self) -> None:
        clients = f"http://127.0.0.1:{self._home.etcd_port}"
        self._daemons.start(
            "etcd",
            [
                str(self._etcd / "etcd"),
                "--name=rig",
                f"--data-dir={self._home.path}/etcd",
                f"--listen-client-urls={clients}",
                f"--advertise-client-urls={clients}",
                f"--listen-peer-urls=http://127.0.0.1:{self._home.etcd_peer_port}",
                "--log-level=warn",
                "--unsafe-no-fsync",
            ],
        )

    def start_api_server(self) -> None:
        pki = self._home.pki
        self._start(
            API_SERVER,
            f"--etcd-servers=http://127.0.0.1:{self._home.etcd_port}",
            "--bind-address=0.0.0.0",
            f"--secure-port={self._home.api_port}",
            f"--advertise-address={HOST_ADDRESS}",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            f"--service-account-key-file={pki}/service-accounts.crt",
            f"--service-account-signing-key-file={pki}/service-accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={SERVICE_NETWORK}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            # Names of nodes are not resolved here: without this, `kubectl logs` finds nobody.
            "--kubelet-preferred-address-types=InternalIP,Hostname",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet.key",
            f"--default-not-ready-toleration-seconds={TOLERATION_S}",
            f"--default-unreachable-toleration-seconds={TOLERATION_S}",
            "--max-requests-inflight=1000",
            "--max-mutating-requests-inflight=600",
            "--v=1",
        )

    def stop_api_server(self) -> None:
        """Stop it at once: a polite stop takes ten seconds.  With it goes the controller manager, as it does
        everywhere: it ends when its lease cannot be renewed.  One that stayed would believe all nodes dead when the
        server is back."""
        for name in ("kube-controller-manager", API_SERVER):
            self._daemons.stop(name, signal.SIGKILL)

    def start_controllers(self) -> None:
        pki = self._home.pki
        self._start(
            "kube-controller-manager",
            f"--kubeconfig={self._home.path}/controller-manager.conf",
            f"--service-account-private-key-file={pki}/service-accounts.key",
            f"--root-ca-file={pki}/ca.crt",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--kube-api-qps=300",
            "--kube-api-burst=600",
            "--node-monitor-period=2s",
            f"--node-monitor-grace-period={NODE_GRACE_S}s",
            "--bind-address=127.0.0.1",
            "--v=1",
        )

    def start_scheduler(self) -> None:
        config = self._home.path / "scheduler.json"
        config.write_text(
            json.dumps(
                {
                    "apiVersion": "kubescheduler.config.k8s.io/v1",
                    "kind": "KubeSchedulerConfiguration",
                    "clientConnection": {
                        "kubeconfig": f"{self._home.path}/scheduler.conf",
                        "qps": 2000,
                        "burst": 4000,
                    },
                    "leaderElection": {"leaderElect": False},
                    "profiles": [{"schedulerName": name} for name in ("default-scheduler", *SECOND_SCHEDULERS)],
                }
            )
        )
        self._start(
            "kube-scheduler",
            f"--config={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._home.scheduler_port}",
            "--v=1",
        )

    def is_ready(self) -> bool:
        try:
            return self.call("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        """Call the API server as the administrator.  The answer's body is text when it is no JSON."""
        context = ssl.create_default_context(cafile=self._home.pki / "ca.crt")
        context.load_cert_chain(self._home.pki / "admin.crt", self._home.pki / "admin.key")
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._home.api_port, context=context, timeout=CALL_TIMEOUT_S
        )
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": kind})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def _start(self, name: str, *words: str) -> None:
        self._daemons.start(name, [str(self._binaries / name), *words])
