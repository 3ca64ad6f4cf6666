"""kubectl and helm as programs: what users have, with the failure in the exception."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rigs.kubernetes.daemons import RigError

HELM_TIMEOUT_S = 120.0
KUBECTL_TIMEOUT_S = 180.0


class InstallFailed(RigError):
    """The message shows the pods, their events and the ends of their logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """kubectl and helm, aimed at one cluster."""

    kubeconfig: Path
    kubectl_program: Path
    helm_program: Path
    namespace: str
    """Where helm keeps its release."""

    def kubectl(self, *words: str, given: str | None = None, check: bool = True) -> str:
        command = [str(self.kubectl_program), *words]
        return run(command, self.environment, given=given, check=check, timeout_s=KUBECTL_TIMEOUT_S)

    def helm(self, *words: str) -> str:
        command = [str(self.helm_program), *words, "--namespace", self.namespace]
        return run(command, self.environment, timeout_s=HELM_TIMEOUT_S)

    def apply(self, text: str) -> None:
        self.kubectl("apply", "--server-side", "--force-conflicts", "--filename", "-", given=text)

    def get(self, kind: str, name: str = "", namespace: str = "", selector: str = "") -> Any:
        """One object, None when it is not there.  Without a name a list of them, without a namespace of all."""
        place = ["--namespace", namespace] if namespace else [] if name else ["--all-namespaces"]
        chosen = [name] if name else ["--selector", selector] if selector else []
        said = self.kubectl("get", kind, *chosen, *place, "--output=json", "--ignore-not-found")
        return json.loads(said) if said.strip() else None

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}


def run(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    timeout_s: float,
    given: str | None = None,
    check: bool = True,
) -> str:
    """Its standard output; with both streams in an InstallFailed when it fails."""
    try:
        done = subprocess.run(
            command, env=environment, input=given or "", capture_output=True, text=True, timeout=timeout_s
        )
    except subprocess.TimeoutExpired as error:
        raise InstallFailed(f"{command[0]} {command[1]}: no end after {timeout_s:.0f} s") from error
    if check and done.returncode:
        raise InstallFailed(f"{' '.join(command[:4])}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout if check else done.stdout + done.stderr
