"""Counts how containers ended since the agent's start (NodeManagerMetrics); the counts only grow."""

from __future__ import annotations

from dataclasses import dataclass

from nm_plugin.container.life import Container, LifeState


@dataclass(slots=True, kw_only=True)
class ContainerCounts:
    """Each container counts once, at its start and at its end; one that an earlier agent started only at its end."""

    launched: int = 0
    completed: int = 0
    failed: int = 0
    killed: int = 0
    rolled_back: int = 0
    """Upgrades that were undone because the script failed."""

    def note(self, before: Container, after: Container) -> None:
        """One transition."""
        if after.state is LifeState.RELAUNCHING and before.rollback and not after.rollback:
            self.rolled_back += 1
        if before.state is LifeState.NEW and after.state is not LifeState.NEW:
            self.launched += 1
        if before.state.is_complete:
            return
        if after.state is LifeState.EXITED_WITH_SUCCESS:
            self.completed += 1
        elif after.state in (LifeState.EXITED_WITH_FAILURE, LifeState.LOCALIZATION_FAILED):
            self.failed += 1
        elif after.state is LifeState.DONE:
            self.killed += 1
