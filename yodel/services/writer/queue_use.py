"""Tracks usage of each queue and each of its users, as rows are published."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate

from yodel.domain.application import Application
from yodel.domain.ids import ApplicationId
from yodel.services.writer.usage import Usage

NOTHING = Usage()


class QueueUse:
    """An application's containers count in the queue it is in now, whatever queue they were started in.  A usage that
    changes is another one, so that a copy of a book is the book at that moment."""

    def __init__(self) -> None:
        self.by_queue: dict[str, Usage] = {}
        """Queues that something is held in, parents too, by path; one that is in no row any more as long as it is."""
        self.by_user: dict[tuple[str, str], Usage] = {}
        """By leaf and user; only what is held."""
        self.live_by_queue: Counter[str] = Counter()
        """Applications under way, by leaf."""
        self.live_count = 0
        """The number in the whole cluster."""
        self.live_by_user: Counter[tuple[str, str]] = Counter()
        """The same by leaf and user."""
        self.unmanaged: Counter[str] = Counter()
        """Live applications whose ApplicationMasters run elsewhere and that may run, by queue, parents too."""
        self.over_parallel_limit: dict[ApplicationId, None] = {}
        """Those that may not, as too many run at once, and those that nobody has looked at yet; as they came."""
        self._let: set[ApplicationId] = set()
        """Those of ``unmanaged``."""
        self.version = 0
        """Grows with what is held anywhere."""
        self._changed: set[str] = set()
        """Queues that something else is held of, since the last time somebody took them."""

    def charge(self, application: Application, held: Usage, sign: int) -> None:
        self.version += 1
        queue, user = application.submission.queue, application.submission.user
        of_user = self.by_user[queue, user] = self.by_user.get((queue, user), NOTHING).plus(held, sign)
        if not of_user.containers:
            del self.by_user[queue, user]
        for path in accumulate(queue.split("."), "{}.{}".format):
            self._changed.add(path)
            of_queue = self.by_queue[path] = self.by_queue.get(path, NOTHING).plus(held, sign)
            if not of_queue.containers:
                del self.by_queue[path]

    def touch(self, queue: str) -> None:
        """Note that usage of a leaf other than containers has changed."""
        self.version += 1
        self._changed.update(accumulate(queue.split("."), "{}.{}".format))

    def take_changed(self) -> set[str]:
        """Queues, parents too, of which something else is held than the last time; for the one reader that there is,
        the scheduler."""
        found, self._changed = self._changed, set()
        return found

    def publish(self, application: Application, old: Application | None, held: Usage | None) -> None:
        """A row of an application that holds so much."""
        if old is not None:
            self._count(old, -1)
            if held is not None and old.submission.queue != application.submission.queue:
                self.charge(old, held, -1)
                self.charge(application, held, 1)
        self._count(application, 1)
        if application.state.is_final:
            self.over_parallel_limit.pop(application.id, None)
            self._let.discard(application.id)
        elif application.submission.is_unmanaged and application.id not in self._let:
            self.over_parallel_limit[application.id] = None

    def let_run(self, application: Application) -> None:
        """Count an application over the limit from now on among those that run at once."""
        del self.over_parallel_limit[application.id]
        self._let.add(application.id)
        self._count_unmanaged(application, 1)

    def forget(self, application: Application) -> None:
        self._count(application, -1)

    def _count(self, application: Application, sign: int) -> None:
        if application.state.is_final:
            return
        queue, user = application.submission.queue, application.submission.user
        if application.id in self._let:
            self._count_unmanaged(application, sign)
        self.live_count += sign
        self.live_by_queue[queue] += sign
        self.live_by_user[queue, user] += sign
        if not self.live_by_queue[queue]:
            del self.live_by_queue[queue]
        if not self.live_by_user[queue, user]:
            del self.live_by_user[queue, user]

    def _count_unmanaged(self, application: Application, sign: int) -> None:
        queue = application.submission.queue
        self.unmanaged.update(dict.fromkeys(accumulate(queue.split("."), "{}.{}".format), sign))
        self.touch(queue)
