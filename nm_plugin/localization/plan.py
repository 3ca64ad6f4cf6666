"""Checks the local resources of a launch context, which a container needs on disk.  Pure.

Follows ``LocalResourceRequest`` (cache key: path, timestamp, type, pattern within a visibility; nobody looks at the
size) and ``ContainerImpl.LocalResource…``: link names come from the client and become paths in the work directory, so a
name that leaves it is refused here and never reaches the disk.  Link names and paths are shortened by their text, as
Java's ``Path`` does it: ``a//b/``, ``./a/b`` and ``a/x/../b`` are one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from urllib.parse import quote, urlsplit

from nm_plugin.host.users import path_name
from yodel.errors import InvalidValue
from yodel.hadoop_pb import yarn_protos_pb2 as pb
from yodel.serving.pieces import in_pieces

_SCHEME = r"[a-z][a-z0-9+.-]{0,31}"
RESOURCES_MAX = 10_000
LINK_LENGTH_MAX = 1024
PATTERN_LENGTH_MAX = 4096


class ResourceType(Enum):
    """LocalResourceTypeProto."""

    ARCHIVE = 1
    FILE = 2
    PATTERN = 3


class Visibility(Enum):
    """LocalResourceVisibilityProto."""

    PUBLIC = 1
    PRIVATE = 2
    APPLICATION = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceUrl:
    """Locates the source of a resource; ``path`` is decoded, ``authority`` is ``host[:port]`` or empty.

    Without ``scheme`` it is in whatever file system the node has as its own (``within``).
    """

    scheme: str
    authority: str
    path: str

    @property
    def name(self) -> str:
        """The last path component: the cached file keeps it."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]

    def within(self, default: SourceUrl) -> SourceUrl:
        """Return the URL, with the file system of ``default`` if it names none."""
        return self if self.scheme else SourceUrl(scheme=default.scheme, authority=default.authority, path=self.path)

    def __str__(self) -> str:
        quoted = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        if not self.scheme:
            return quoted
        return f"{self.scheme}://{self.authority}{quoted}" if self.authority else f"{self.scheme}:{quoted}"


LOCAL_FILES = SourceUrl(scheme="file", authority="", path="/")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKey:
    """Equal keys of one visibility scope share one download.

    With ``sha256``, in hexadecimal digits, it is what it is by its content, and whenever it was changed.
    """

    url: SourceUrl
    timestamp_ms: int
    type: ResourceType
    pattern: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalResource:
    """One local resource of a container; ``link`` is its name as the client wrote it."""

    link: str
    key: ResourceKey
    visibility: Visibility

    @property
    def place(self) -> str:
        """Its path in the work directory.  Raises InvalidValue."""
        return place_of_link(self.link)


def wanted(resources: Sequence[pb.StringLocalResourceMapProto]) -> tuple[LocalResource, ...]:
    """Raises InvalidValue: too many, a link outside of the work directory, an unusable URL."""
    _require_few(resources)
    return _distinct([_wanted(entry) for entry in resources])


async def wanted_in_turns(resources: Sequence[pb.StringLocalResourceMapProto]) -> tuple[LocalResource, ...]:
    """The same, while others are answered too."""
    _require_few(resources)
    return _distinct(await in_pieces(_wanted, resources))


def _require_few(resources: Sequence[pb.StringLocalResourceMapProto]) -> None:
    if len(resources) > RESOURCES_MAX:
        raise InvalidValue("localResources", len(resources), f"at most {RESOURCES_MAX}")


def _distinct(result: list[LocalResource]) -> tuple[LocalResource, ...]:
    if len({w.place for w in result}) != len(result):
        raise InvalidValue("localResources", "a link name twice", "distinct link names")
    return tuple(result)


def _wanted(entry: pb.StringLocalResourceMapProto) -> LocalResource:
    link, resource = entry.key, entry.value
    place_of_link(link)
    if len(resource.pattern) > PATTERN_LENGTH_MAX:
        raise InvalidValue("LocalResource.pattern", f"{len(resource.pattern)} characters", f"<= {PATTERN_LENGTH_MAX}")
    type_ = ResourceType(resource.type) if resource.type else ResourceType.FILE
    key = ResourceKey(
        url=source_url(resource.resource),
        timestamp_ms=resource.timestamp,
        type=type_,
        pattern=resource.pattern if type_ is ResourceType.PATTERN else "",
    )
    visibility = Visibility(resource.visibility) if resource.visibility else Visibility.APPLICATION
    return LocalResource(link=link, key=key, visibility=visibility)


def place_of_link(link: str) -> str:
    """Its path in the work directory.

    Raises InvalidValue: the name would leave the work directory, is of the directory itself, or breaks the script's
    lines.
    """
    parts = _shortened(link)
    is_bad = not parts or ".." in parts or link.startswith("/") or len(link) > LINK_LENGTH_MAX
    if is_bad or any(character in link for character in "\n\0"):
        raise InvalidValue("local resource link", link[:LINK_LENGTH_MAX], "a relative path inside the work directory")
    return "/".join(parts)


def _shortened(path: str) -> list[str]:
    """The components as ``java.net.URI.normalize`` leaves them: with each ``..`` that has nothing before it."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def source_url(url: pb.URLProto) -> SourceUrl:
    """Rebuild from the parts as ``URL.toPath`` does; port −1 and absent hosts vanish, and so may the scheme.

    A ``..`` above the root stays there, as it does on a disk.
    """
    scheme, host = url.scheme.lower(), url.host or ""
    if not re.fullmatch(_SCHEME, scheme) and (scheme or host):
        raise InvalidValue("URL.scheme", scheme[:32], "a URL scheme")
    parts = [part for part in _shortened(url.file) if part != ".."]
    if not url.file.startswith("/") or "\0" in url.file or not parts:
        raise InvalidValue("URL.file", url.file[:200], "an absolute path")
    if not re.fullmatch(r"[A-Za-z0-9._-]*", host):
        raise InvalidValue("URL.host", host[:200], "a host name")
    authority = f"{host}:{url.port}" if host and url.port > 0 else host
    if url.userInfo and host:
        if not re.fullmatch(r"[A-Za-z0-9._~%-]*", url.userInfo):
            raise InvalidValue("URL.userInfo", "(hidden)", "unreserved characters")
        authority = f"{url.userInfo}@{authority}"
    return SourceUrl(scheme=scheme, authority=authority, path="/" + "/".join(parts))


def file_system(text: str) -> SourceUrl:
    """The root of the file system that ``fs.defaultFS`` names.  Raises InvalidValue."""
    parts = urlsplit(text)
    if not re.fullmatch(_SCHEME, parts.scheme):
        raise InvalidValue("fs.defaultFS", text[:200], "the URL of a file system")
    return SourceUrl(scheme=parts.scheme, authority=parts.netloc, path="/")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheScope:
    """Names the cache: PUBLIC has neither user nor application, PRIVATE a user, APPLICATION both."""

    visibility: Visibility
    user: str = ""
    application: str = ""

    def directory(self) -> str:
        """Relative to a local dir (section "Directory layout" of Hadoop's ContainerLocalizer)."""
        if self.visibility is Visibility.PUBLIC:
            return "filecache"
        if self.visibility is Visibility.PRIVATE:
            return f"usercache/{path_name(self.user)}/filecache"
        return f"usercache/{path_name(self.user)}/appcache/{self.application}/filecache"


def scope_of(visibility: Visibility, user: str, application: str) -> CacheScope:
    if visibility is Visibility.PUBLIC:
        return CacheScope(visibility=visibility)
    if visibility is Visibility.PRIVATE:
        return CacheScope(visibility=visibility, user=user)
    return CacheScope(visibility=visibility, user=user, application=application)
