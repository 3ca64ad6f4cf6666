from pathlib import Path

import pytest

from nm_plugin.cgroups.files import Files, LostReading, number_in, whole


def test_an_open_file_is_read_from_its_beginning_each_time(tmp_path: Path) -> None:
    files, path = Files(), tmp_path / "cpu.stat"
    path.write_text("one")
    assert files.content(str(path)) == "one"
    path.write_text("other")
    assert files.content(str(path)) == "other"
    files.close()
    assert files.content(str(path)) == "other"


def test_what_cannot_be_read_is_lost_and_what_is_missing_is_told_apart(tmp_path: Path) -> None:
    files = Files()
    with pytest.raises(LostReading, match="Is a directory"):
        files.content(str(tmp_path))
    with pytest.raises(FileNotFoundError):
        files.content(str(tmp_path / "none"))


def test_a_key_is_a_whole_word_at_the_start_of_a_line() -> None:
    content = "inactive_file 7\ntotal_inactive_file 9\nlast 5"
    assert [number_in("f", content, key) for key in ("inactive_file", "total_inactive_file", "last")] == [7, 9, 5]
    with pytest.raises(LostReading, match="f: no line active_file"):
        number_in("f", content, "active_file")


@pytest.mark.parametrize("text", ["", "-1", "1.5", "\u0661", "1" * 21])
def test_a_number_is_plain_and_not_negative(text: str) -> None:
    with pytest.raises(LostReading, match="is not a number"):
        whole("f", text)
