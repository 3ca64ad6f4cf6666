"""Settings of queues, of dialects of the house and of users on the nodes, as they stand in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from yodel.settings.layers import InvalidSettings
from yodel.settings.queues import QueueSettings
from yodel.settings.rm import load

WHOLE = """
queues = ["default", "etl"]

[queue_defaults]
scheduler_name = "koord-scheduler"
dialect = "koordinator"

[queue_settings."root.etl"]
dialect = "house"
images_allowed = ["registry.example.com/etl/*"]

[queue_settings."root.etl".pod_template.spec]
tolerations = [{ key = "batch", operator = "Exists" }]

[dialects.house]
cpu_resource = "colocation.example.com/cpu"
memory_resource = "colocation.example.com/memory"

[dialects.house.gang]
api_version = "scheduling.example.com/v1"
pod_label = "example.com/gang"

[user_ids.alice]
uid = 2001
gid = 2002
groups = [3000]
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rm.toml"
    path.write_text(text)
    return path


def test_tables_of_a_file_are_read(tmp_path: Path) -> None:
    settings = load(written(tmp_path, WHOLE))
    etl = settings.queue_settings["root.etl"]
    assert (settings.queue_defaults.dialect, etl.dialect, etl.scheduler_name) == ("koordinator", "house", None)
    assert etl.pod_template == {"spec": {"tolerations": [{"key": "batch", "operator": "Exists"}]}}
    assert settings.dialects["house"].gang is not None
    assert (settings.user_ids["alice"].uid, settings.user_ids["alice"].groups) == (2001, (3000,))


def test_environment_has_them_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("YODEL_QUEUE_DEFAULTS", '{"image": "x:1"}')
    assert load(None).queue_defaults.image == "x:1"


def test_what_is_said_stands_over_the_lower_layer_even_when_it_is_nothing() -> None:
    lower = QueueSettings(image="lower", gang=True, image_pull_secrets=("s",))
    found = QueueSettings(gang=False, image_pull_secrets=()).over(lower)
    assert (found.image, found.gang, found.image_pull_secrets) == ("lower", False, ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[queue_settings."root.x"]\nimage = "i"', ("queue_settings", "no queue root.x", "root.default")),
        ('[queue_defaults]\nimages = "i"', ("queue_defaults.images", "no such setting")),
        ('[queue_defaults]\nnetwork = "bridge"', ("queue_defaults.network", "'bridge'", "'host' or 'pod'")),
        ("[queue_defaults]\ntermination_grace_period_s = -1", ("termination_grace_period_s", "-1", "equal to 0")),
        ('[queue_defaults]\nplacement = "slurm"', ("queue_defaults.placement", "'slurm'", "'kubernetes' or 'bind'")),
        ('[queue_defaults]\nscheduler_name = "A b"', ("queue_defaults.scheduler_name", "'A b'", "pattern")),
        ('[queue_defaults]\nimages_allowed = ["reg*"]', ("queue_defaults.images_allowed.0", "'reg*'", "pattern")),
        ('[queue_defaults]\nimages_allowed = ["*/x"]', ("queue_defaults.images_allowed.0", "'*/x'", "pattern")),
        ("[queue_defaults]\ngang_min_member = 0", ("queue_defaults.gang_min_member", "0", "equal to 1")),
        (
            '[dialects.h]\ncpu_resource = "cpu"\nmemory_resource = "x.io/m"',
            ("dialects.h.cpu_resource", "'cpu'", "pattern"),
        ),
        (
            '[dialects.h]\ncpu_resource = "x.io/m"\nmemory_resource = "x.io/m"',
            ("dialects.h", "expected two resources"),
        ),
        (
            '[dialects.h]\ncpu_resource = "x.io/c"\nmemory_resource = "x.io/m"\ngang = { api_version = "x.io/v1" }',
            ("dialects.h.gang", "one of pod_label and pod_annotation"),
        ),
        ("[user_ids.bob]\nuid = -1\ngid = 5", ("user_ids.bob.uid", "-1", "equal to 0")),
    ],
)
def test_mistake_is_one_line_with_field_value_and_expectation(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidSettings) as caught:
        load(written(tmp_path, text))
    (line,) = str(caught.value).splitlines()
    assert all(word in line for word in words), line
