"""Reads settings in layers: overrides > environment > TOML file > defaults.

What is wrong is told a line a mistake, with the file and the place in it, or the variable, or the setting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsError,
)

from yodel.errors import InvalidValue, did_you_mean

VALUE_LENGTH_MAX = 200
S = TypeVar("S", bound=BaseSettings)


class InvalidSettings(InvalidValue):
    """Reports every mistake on a line of its own: the setting, its value, and what was expected."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("settings", None, "no mistake")
        self.args = ("\n".join(mistakes),)


def load(settings: type[S], config: Path | None, overrides: Mapping[str, Any]) -> S:
    """Settings of this type.

    Raises:
        InvalidValue: the file cannot be read or is no TOML, a variable is no JSON, or (InvalidSettings) a setting is
            unknown or malformed.
    """
    in_file = _of_file(config) if config is not None else {}

    class _Layered(settings):  # type: ignore[valid-type,misc]
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, _Variables(settings_cls), InitSettingsSource(settings_cls, init_kwargs=in_file)

    try:
        made: S = _Layered(**overrides)
    except SettingsError as error:
        if isinstance(error.__cause__, InvalidValue):
            raise error.__cause__ from None
        raise InvalidSettings([str(error)]) from error
    except ValidationError as error:
        raise InvalidSettings(_mistakes(error, settings)) from error
    return made


def sources(settings: type[BaseSettings], config: Path | None, overrides: Mapping[str, Any]) -> dict[str, str]:
    """Return where each setting that is given is read from, the layer that counts, by its name; of a table as a whole,
    of the settings in it too.

    Raises InvalidValue, as ``load``.
    """
    found: dict[str, str] = {}
    in_file = _of_file(config) if config is not None else {}
    for layer, source in ((in_file, "file"), (_Variables(settings)(), "environment"), (overrides, "command line")):
        found |= dict.fromkeys(_names(layer), source)
    return found


def _names(layer: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in layer.items():
        yield f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _names(value, f"{prefix}{name}.")


def _of_file(config: Path) -> dict[str, Any]:
    """Raises InvalidValue."""
    try:
        text = config.read_bytes().decode("utf-8")
        return tomllib.loads(text)
    except OSError as error:
        raise InvalidValue("--config", str(config), f"a readable TOML file ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InvalidValue("--config", str(config), f"TOML in UTF-8 (not so at line {line})") from None
    except tomllib.TOMLDecodeError as error:
        # "Invalid value (at line 1, column 5)", or "Unclosed array (at end of document)".
        lines = text.split("\n")
        end = f"line {len(lines)}, column {len(lines[-1]) + 1}"
        words = str(error).replace("end of document", end)
        raise InvalidValue("--config", str(config), f"TOML: {words}") from None


class _Variables(EnvSettingsSource):
    """Lists and tables are JSON in variables."""

    def prepare_field_value(self, field_name: str, field: FieldInfo, value: Any, value_is_complex: bool) -> Any:
        """Raises InvalidValue, which pydantic-settings wraps."""
        try:
            return super().prepare_field_value(field_name, field, value, value_is_complex)
        except ValueError as error:
            name = f"{self.env_prefix}{field_name}".upper()
            expected = f'JSON, such as ["a", "b"] or {{"a": 1}} ({error})'
            raise InvalidValue(name, str(value)[:VALUE_LENGTH_MAX], expected) from error


def _mistakes(error: ValidationError, settings: type[BaseModel]) -> list[str]:
    return [_line(mistake, settings) for mistake in error.errors(include_url=False, include_context=False)]


def _line(mistake: Any, settings: type[BaseModel]) -> str:
    name, words = ".".join(str(part) for part in mistake["loc"]), mistake["msg"].removeprefix("Value error, ")
    if mistake["type"] == "extra_forbidden":
        nearest = did_you_mean(str(mistake["loc"][-1]), _names_beside(mistake["loc"], settings))
        return f"Invalid {name}: there is no such setting; " + f"{nearest} docs/configuration.md lists them".lstrip()
    if not name:  # of several settings together: to show the value would be to show all
        return f"Invalid settings: {words}"
    value = repr(mistake["input"])
    return f"Invalid {name}: {value if len(value) <= VALUE_LENGTH_MAX else value[:VALUE_LENGTH_MAX] + '…'}; {words}"


def _names_beside(place: tuple[int | str, ...], settings: type[BaseModel]) -> list[str]:
    """Settings of the table that something is in; none where that is no table of known names."""
    for part in place[:-1]:
        field = settings.model_fields.get(str(part))
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return []
        settings = field.annotation
    return [*settings.model_fields]
