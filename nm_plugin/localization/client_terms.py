"""A shuffle service's client in an application's JVMs: what a container token says of it, and whether what a submitter
set can go with it.  Pure.

The settings are in the command already, where the ResourceManager put them (``yodel.domain.shuffle.decision``); what
they are is the service's own table.  Here they are taken out again where they cannot be, and the jar is put behind
everything else on the class path.  What an ApplicationMaster is started without, its executors must be without too: of
its environment Spark gives them what begins with ``SPARK``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from nm_plugin.localization import shuffle_terms
from nm_plugin.localization.plan import LocalResource, ResourceKey, ResourceType, SourceUrl, Visibility
from yodel.domain.shuffle.report import Cause, Reason
from yodel.domain.shuffle.service import Client, Service
from yodel.domain.shuffle.services import SERVICES
from yodel.domain.shuffle.spark_release import PYTHON_PATH, SparkRelease, contradiction
from yodel.hadoop_pb import yarn_protos_pb2 as pb

LINK = "__remote_shuffle__.jar"
IN_IMAGE = "local"
WITHOUT = "SPARK_YODEL_REMOTE_SHUFFLE"
"""``none``: the ApplicationMaster was started without the service."""
_MANAGER = b"spark.shuffle.manager"
_LEAVES = f"{_MANAGER.decode()}=sort"
_SERIALIZER, _KRYO = b"spark.serializer", b"org.apache.spark.serializer.KryoSerializer"
_DYNAMIC = b"spark.dynamicAllocation.enabled"
_TRACKING = b"spark.dynamicAllocation.shuffleTracking.enabled"
_PLUGIN = b"spark.shuffle.sort.io.plugin.class"
_EXTERNAL_SERVICE = b"spark.shuffle.service.enabled"
_USER_FIRST = (b"spark.executor.userClassPathFirst", b"spark.driver.userClassPathFirst")
_SECONDARY_JARS = b"spark.yarn.secondary.jars"
"""Jars of ``--jars``, including those of the image (``local:``)."""
_PLUGIN_FROM = (3, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTerms:
    """Holds the shuffle client of the token; with ``has_lines`` its settings are in the ApplicationMaster's command."""

    service: Service
    client: Client
    when_away: str
    jar: str
    sha256: str
    spark_version: str
    has_lines: bool


def terms_of(pairs: Mapping[str, str]) -> TokenTerms | None:
    """None: the queue's service has no client, or there is no such service here."""
    service = SERVICES.get(pairs.get("service", ""))
    if service is None or service.client is None or "jar" not in pairs:
        return None
    return TokenTerms(
        service=service,
        client=service.client,
        when_away=pairs.get("when-away", ""),
        jar=pairs["jar"],
        sha256=pairs.get("jar-sha256", ""),
        spark_version=pairs.get("spark-version", ""),
        has_lines=pairs.get("lines") != "none",
    )


def names_the_manager(terms: TokenTerms, said: Mapping[bytes, bytes]) -> bool:
    """The submitter himself asks for the service."""
    return said.get(_MANAGER, b"").decode(errors="replace") in terms.client.managers


def left_by(terms: TokenTerms, said: Mapping[bytes, bytes]) -> Cause | None:
    """Return the setting with which the submitter replaces the service; None: there is none."""
    if _MANAGER in said and not names_the_manager(terms, said):
        return Cause(Reason.OWN_MANAGER, _shown(_MANAGER, said))
    if said.get(_SERIALIZER, _KRYO) != _KRYO:
        return Cause(Reason.OWN_SERIALIZER, _shown(_SERIALIZER, said))
    return None


def conflict(context: bytes, terms: TokenTerms, said: Mapping[bytes, bytes], kept: Collection[str]) -> str:
    """Return an error with key, value and what to change; empty: no conflict.  ``kept`` are the keys that the queue
    adds."""
    name = terms.service.name
    if _is_on(_EXTERNAL_SERVICE, said):
        why = "that service serves shuffle data on the nodes, where there is none"
        return shuffle_terms.refusal(_shown(_EXTERNAL_SERVICE, said), name, why, _LEAVES)
    brought = _brought(context, terms, said)
    for key in _USER_FIRST:
        if brought and _is_on(key, said):
            why = f"the classes of {brought} would be loaded twice, and Spark's own shuffle would silently be used"
            return shuffle_terms.refusal(_shown(key, said), name, why, _LEAVES)
    is_untracked = _is_on(_DYNAMIC, said) and said.get(_TRACKING, b"").lower() == b"false"
    if is_untracked and _PLUGIN not in said and _PLUGIN.decode() not in kept:
        why = (
            "shuffle data that falls back to Spark's own shuffle would be lost with the executors that dynamic "
            "allocation removes"
        )
        return shuffle_terms.refusal(f"{_shown(_TRACKING, said)} without {_PLUGIN.decode()}", name, why, _LEAVES)
    return ""


def _brought(context: bytes, terms: TokenTerms, said: Mapping[bytes, bytes]) -> str:
    """Return the file name of the client's jar that the submission brings itself; empty: it brings none."""
    resources = pb.ContainerLaunchContextProto.FromString(context).localResources
    paths = [path for entry in resources for path in (entry.key, entry.value.resource.file)]
    paths += said.get(_SECONDARY_JARS, b"").decode(errors="replace").split(",")
    names = (path.rpartition("/")[2] for path in paths)
    return next((name for name in names if terms.client.files.fullmatch(name)), "")


def contradicted(context: bytes, said: SparkRelease) -> Cause | None:
    """Return why it cannot be the Spark release of its queue; None: it can, as far as is known."""
    message = pb.ContainerLaunchContextProto.FromString(context)
    paths = (entry.value for entry in message.environment if entry.key == PYTHON_PATH)
    return contradiction(said, message.command, ":".join(paths))


def hindrance(
    terms: TokenTerms, said: Mapping[bytes, bytes], release: SparkRelease, services: Collection[str]
) -> Cause | None:
    """Return why the application cannot use dynamic allocation with the client; None: it can, or does not request it.

    ``services`` are the node's auxiliary ones.
    """
    if not _is_on(_DYNAMIC, said):
        return None
    name, least = terms.service.name, terms.client.dynamic_from.get(terms.when_away)
    if least is not None and (release.major, release.minor) < least:
        needed = f"Spark {least[0]}.{least[1]} with {name}"
        return Cause(Reason.SPARK_TOO_OLD, f"{_shown(_DYNAMIC, said)} needs {needed}; it has Spark {release}")
    needed = terms.client.dynamic_needs.get(terms.when_away, "")
    if needed and needed not in services:
        text = f"{_shown(_DYNAMIC, said)} needs the auxiliary service {needed} on the nodes, to which {name} falls back"
        return Cause(Reason.NO_AUXILIARY_SERVICE, text)
    return None


def unmet(context: bytes, terms: TokenTerms, said: Mapping[bytes, bytes], release: SparkRelease) -> dict[str, Cause]:
    """Return the settings whose conditions are not met, or which the Spark release does not know, with the causes."""
    is_dynamic, can_fall_back = _is_on(_DYNAMIC, said), terms.client.can_fall_back(_in_force(context, said))
    causes: dict[str, Cause] = {}
    for one in terms.service.settings:
        if can_fall_back and one.is_never_fallback:
            causes[one.key] = Cause(Reason.CAN_FALL_BACK)
        elif one.is_for_dynamic_allocation and not is_dynamic:
            causes[one.key] = Cause(Reason.ALLOCATION_STATIC)
        elif one.has_conditions and (release.major, release.minor) < _PLUGIN_FROM:
            causes[one.key] = Cause(Reason.PLUGIN_UNKNOWN, str(release))
    return causes


def with_client(context: bytes, terms: TokenTerms, left_out: Collection[str]) -> bytes:
    """Return the launch context with the jar on its class path and without the settings ``left_out``."""
    message = pb.ContainerLaunchContextProto.FromString(context)
    _remove_options(message, left_out)
    return with_jar(message.SerializeToString(), terms)


def with_jar(context: bytes, terms: TokenTerms) -> bytes:
    """The launch context with the jar last on its class path."""
    message = pb.ContainerLaunchContextProto.FromString(context)
    scheme, _, path = terms.jar.partition(":")
    place = "/" + path.lstrip("/") if scheme == IN_IMAGE else f"{{{{PWD}}}}/{LINK}"
    before = next((entry for entry in message.environment if entry.key == "CLASSPATH"), None)
    if before is None:
        message.environment.add(key="CLASSPATH", value=place)
    else:
        before.value = f"{before.value}<CPS>{place}"
    return message.SerializeToString()


def without_client(context: bytes, terms: TokenTerms) -> bytes:
    """The launch context of an ApplicationMaster without any of it, which its executors will see."""
    message = pb.ContainerLaunchContextProto.FromString(context)
    _remove_options(message, shuffle_terms.keys_of(terms.service.name))
    message.environment.add(key=WITHOUT, value="none")
    return message.SerializeToString()


def is_without(context: bytes) -> bool:
    """Return True if the ApplicationMaster was started without the shuffle client."""
    message = pb.ContainerLaunchContextProto.FromString(context)
    return any(entry.key == WITHOUT and entry.value == "none" for entry in message.environment)


def is_linked(context: bytes) -> bool:
    """Return True if the client's jar is linked on the class path."""
    message = pb.ContainerLaunchContextProto.FromString(context)
    return any(entry.key == "CLASSPATH" and entry.value.endswith(f"/{LINK}") for entry in message.environment)


def jar_resource(terms: TokenTerms) -> LocalResource | None:
    """The jar as one of everybody's resources; None: it is in the image."""
    parts = urlsplit(terms.jar)
    if parts.scheme == IN_IMAGE:
        return None
    url = SourceUrl(scheme=parts.scheme, authority=parts.netloc, path=parts.path)
    key = ResourceKey(url=url, timestamp_ms=0, type=ResourceType.FILE, sha256=terms.sha256)
    return LocalResource(link=LINK, key=key, visibility=Visibility.PUBLIC)


def _in_force(context: bytes, said: Mapping[bytes, bytes]) -> dict[str, str]:
    """Return the driver's settings: options of its command, overridden by the submitter's."""
    own = {key.decode(errors="replace"): value.decode(errors="replace") for key, value in said.items()}
    return shuffle_terms.options(context) | own


def _remove_options(message: pb.ContainerLaunchContextProto, keys: Collection[str]) -> None:
    """Remove the options that the ResourceManager added, recognized by their form."""
    starts = tuple(f"'-D{key}=" for key in keys)
    if starts:
        message.command[:] = [item for item in message.command if not item.startswith(starts)]


def _is_on(key: bytes, said: Mapping[bytes, bytes]) -> bool:
    return said.get(key, b"").lower() == b"true"


def _shown(key: bytes, said: Mapping[bytes, bytes]) -> str:
    return f"{key.decode()}={said[key].decode(errors='replace')[:100]}"
