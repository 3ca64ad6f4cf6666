"""Detects the mounted version of cgroups and the driver whose names the kubelet uses."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nm_plugin.cgroups.files import LostReading
from nm_plugin.cgroups.layout import BEST_EFFORT, DRIVERS, PODS, VERSIONS, Number, Version, levels


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The kubelet's groups as they are mounted on this node."""

    mount: Path
    version: Version
    driver: str
    root: PurePosixPath
    pods: PurePosixPath
    best_effort: PurePosixPath

    @property
    def is_machine(self) -> bool:
        """True where the kubelet's root is the root of all groups: then the node is the machine."""
        return not self.root.parts

    def path(self, group: PurePosixPath, number: Number) -> Path:
        return self.mount / number.controller / group / number.file


def mounted_version(mount: Path) -> Version | None:
    """Return None where no cgroup file system with the controllers needed here is mounted."""
    return next((version for version in VERSIONS if (mount / version.mark).exists()), None)


def find_layout(mount: Path, cgroup_root: str) -> Layout:
    """Return the layout of the groups below the kubelet's ``--cgroup-root``.

    Raises:
        LostReading: the groups of pods are not there, or are there in both spellings.
    """
    version = mounted_version(mount)
    if version is None:
        raise LostReading(f"{mount}: not a cgroup file system")
    names = levels(cgroup_root)
    layouts = [
        Layout(
            mount=mount,
            version=version,
            driver=driver,
            root=spell(names),
            pods=spell((*names, *PODS)),
            best_effort=spell((*names, *BEST_EFFORT)),
        )
        for driver, spell in DRIVERS.items()
    ]
    found = [layout for layout in layouts if layout.path(layout.pods, version.cpu).exists()]
    if not found:
        paths = " or ".join(str(layout.path(layout.pods, version.cpu)) for layout in layouts)
        raise LostReading(f"{paths} does not exist: is the node's cgroup file system mounted, and cgroup_root correct?")
    if len(found) > 1:
        raise LostReading(
            f"{found[0].pods} and {found[1].pods} both exist: remove the one that the kubelet does not use"
        )
    return found[0]
