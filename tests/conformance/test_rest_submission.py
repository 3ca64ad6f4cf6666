"""REST and nothing else: plain curl submits a shell command and polls it to the end."""

from __future__ import annotations

import pathlib

from tests.conformance.cluster import Cluster
from tests.conformance.rest_words import new_id, polled_to_the_end, post, shell


def test_shell_command_runs_and_the_am_that_never_registers_fails_as_in_yarn(
    cluster: Cluster, shared_dir: pathlib.Path
) -> None:
    """YARN's own rule: an AM that exits 0 without having registered has not succeeded."""
    application_id, proof = new_id(cluster), shared_dir / "proof"
    command = f"echo $GREETING in $CONTAINER_ID > {proof}; echo out; echo err >&2"
    post(cluster, shell(application_id, f"{command} 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"))
    state, final_status, diagnostics = polled_to_the_end(cluster, application_id)
    assert proof.read_text().startswith("hello from the body in container_")
    assert application_id.removeprefix("application_") in proof.read_text()
    assert (state, final_status) == ("FAILED", "FAILED")
    assert "exitCode: 0" in diagnostics


def test_exit_status_of_a_shell_command_is_in_the_diagnostics(cluster: Cluster) -> None:
    application_id = new_id(cluster)
    post(cluster, shell(application_id, "exit 7"))
    state, final_status, diagnostics = polled_to_the_end(cluster, application_id)
    assert (state, final_status) == ("FAILED", "FAILED")
    attempt = application_id.replace("application_", "appattempt_") + "_000001"
    assert f"AM Container for {attempt} exited with  exitCode: 7" in diagnostics
