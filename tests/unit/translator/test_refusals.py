from __future__ import annotations

import pytest

from yodel.translator import refusals

QUOTA = (
    'pods "p" is forbidden: exceeded quota: batch, requested: requests.cpu=4, used: requests.cpu=8, limited: '
    "requests.cpu=10"
)
LIMIT = 'pods "p" is forbidden: maximum memory usage per Container is 1Gi, but limit is 2Gi'
LEAVING = 'pods "p" is forbidden: unable to create new content in namespace batch because it is being terminated'
WEBHOOK = 'admission webhook "pods.policy.example" denied the request: images must be signed'
SECURITY = 'pods "p" is forbidden: violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)'
INVALID = 'Pod "p" is invalid: spec.containers[0].image: Required value'


@pytest.mark.parametrize(
    ("message", "what", "may_pass"),
    [
        (QUOTA, "Quota full, or a limit of the namespace", True),
        (LIMIT, "Quota full, or a limit of the namespace", True),
        (LEAVING, "Namespace missing or terminating", True),
        ('namespaces "batch" not found', "Namespace missing or terminating", True),
        (WEBHOOK, "Refused by a webhook or a policy", False),
        (SECURITY, "Refused by a webhook or a policy", False),
        (INVALID, "Refused otherwise", False),
    ],
)
def test_line(message: str, what: str, may_pass: bool) -> None:
    line = refusals.meaning_of(f"Creating pod p: {message}")
    assert line.what == what
    assert line.may_pass is may_pass


def test_every_line_is_tested() -> None:
    seen = {refusals.meaning_of(message).what for message in (QUOTA, LEAVING, WEBHOOK, INVALID)}
    assert seen == {line.what for line in refusals.TABLE}
