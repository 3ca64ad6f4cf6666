"""A pod's refusal is known by its text: each is one that a plug-in of Kubernetes 1.36 writes."""

from __future__ import annotations

import pytest

from yodel.translator import refusals

FORBIDDEN = 'pods "p" is forbidden: '
QUOTA = "exceeded quota: batch, requested: requests.cpu=4, used: requests.cpu=8, limited: requests.cpu=10"
LIMIT = "maximum memory usage per Container is 1Gi, but limit is 2Gi"
LEAVING = "unable to create new content in namespace batch because it is being terminated"
NO_ACCOUNT = 'error looking up service account batch/default: serviceaccount "default" not found'
NOT_READY = "not yet ready to handle request"
WEBHOOK = 'admission webhook "pods.policy.example" denied the request: images must be signed'
SECURITY = 'violates PodSecurity "restricted:latest": host namespaces (hostNetwork=true)'
INVALID = 'Pod "p" is invalid: spec.containers[0].image: Required value'

BY_QUOTA, BY_RANGE, BY_NAMESPACE, BY_ABSENCE, BY_SERVER, BY_POLICY, OTHERWISE = (line.what for line in refusals.TABLE)


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (QUOTA, BY_QUOTA),
        ("failed quota: batch: must specify limits.cpu for: main", BY_QUOTA),
        ("insufficient quota to consume: requests.cpu", BY_QUOTA),
        ("insufficient quota to match these scopes: [{PriorityClass In [high]}]", BY_QUOTA),
        ("status unknown for quota: compute-resources, resources: limits.cpu,requests.cpu", BY_QUOTA),
        (LIMIT, BY_RANGE),
        ("maximum cpu usage per Pod is 1.  No limit is specified", BY_RANGE),
        ("minimum cpu usage per Container is 100m, but request is 50m", BY_RANGE),
        ("minimum example.com/gpu usage per Pod is 1.  No request is specified", BY_RANGE),
        ("cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000", BY_RANGE),
        ("memory max limit to request ratio per Pod is 2, but no request is specified or request is 0", BY_RANGE),
        (
            "[maximum cpu usage per Pod is 1, but limit is 2, maximum memory usage per Pod is 1Gi, but limit is 2Gi]",
            BY_RANGE,
        ),
        ("unable to CREATE pods at this time because there was an error enforcing limit ranges", BY_RANGE),
        (LEAVING, BY_NAMESPACE),
        (NO_ACCOUNT, BY_ABSENCE),
        ("no PriorityClass with name yodel-am was found", BY_ABSENCE),
        ('pod rejected: RuntimeClass "kata" not found', BY_ABSENCE),
        (NOT_READY, BY_SERVER),
        ("Error contacting webhook: 503", BY_SERVER),
        ('Post "https://images.example/review": dial tcp 10.0.0.1:443: connect: connection refused', BY_SERVER),
        (SECURITY, BY_POLICY),
        ("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", BY_POLICY),
        ('User "x" cannot create resource "pods" in API group "" in the namespace "batch"', OTHERWISE),
    ],
)
def test_forbidden_pod(message: str, what: str) -> None:
    line = refusals.meaning_of(f"Creating pod p: {FORBIDDEN}{message}")
    assert line.what == what
    assert line.may_pass is (what not in (BY_POLICY, OTHERWISE))


@pytest.mark.parametrize(
    ("message", "what"),
    [('namespaces "batch" not found', BY_NAMESPACE), (WEBHOOK, BY_POLICY), (INVALID, OTHERWISE)],
)
def test_pod_refused_by_another_status(message: str, what: str) -> None:
    assert refusals.meaning_of(f"Creating pod p: {message}").what == what


def test_limit_range_is_named_where_its_own_words_do_not() -> None:
    assert refusals.explained(LIMIT) == f"A LimitRange of the namespace does not allow the pod: {LIMIT}"
    assert refusals.explained(QUOTA) == QUOTA


def test_every_line_is_tested() -> None:
    messages = (QUOTA, LIMIT, LEAVING, NO_ACCOUNT, NOT_READY, WEBHOOK, INVALID)
    assert [refusals.meaning_of(message).what for message in messages] == [line.what for line in refusals.TABLE]
