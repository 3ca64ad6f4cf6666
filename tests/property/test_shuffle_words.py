"""A queue's words on shuffle are judged as a whole: in whatever order they come, the same is kept or refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from yodel.domain.queues.queue import Queue
from yodel.domain.shuffle.services import SERVICES
from yodel.domain.shuffle.word import ShuffleProperty
from yodel.domain.shuffle.words import MARKER, NONE, with_shuffle
from yodel.errors import Refused

ROOT, BELOW = Queue(path="root", is_leaf=False), Queue(path="root.a")
OPTIONS = sorted({key for service in SERVICES.values() for key in service.options})
ABOVE: tuple[dict[str, str], ...] = (
    {},
    {"service": "spark-decommission"},
    {"service": "celeborn", "endpoints": "m-1:9097", "jar": "local:/x.jar"},
)
VALUES = {
    "service": (*SERVICES, NONE, "celeborn2", ""),
    "when-away": ("spark", "refuse", "later"),
    "endpoints": ("m-1:9097", "nowhere"),
    "jar": ("local:/x.jar", "file:/x.jar", "x.jar"),
    "jar-sha256": ("0" * 64, "0"),
    "spark-version": ("3.5.9", "newest"),
    "wrods": ("x",),
}
OPTION_VALUES = {f"option.{key}": ("true", "10", "HASH", "$(id)") for key in (*OPTIONS, "spark.none.such")}
FEW = st.tuples(st.sets(st.sampled_from(sorted(VALUES))), st.sets(st.sampled_from(sorted(OPTION_VALUES)), max_size=2))


@st.composite
def words(draw: st.DrawFn) -> dict[str, str]:
    """Draw words in the order in which somebody says them."""
    names = draw(st.permutations(sorted(set().union(*draw(FEW)))))
    return {name: draw(st.sampled_from((VALUES | OPTION_VALUES)[name])) for name in names}


def outcome(above: dict[str, str], said: dict[str, str]) -> tuple[ShuffleProperty, ...] | str:
    """Return what the queue has, or why it is refused."""
    own = {
        path: {MARKER + name: text for name, text in texts.items()}
        for path, texts in (("root", above), ("root.a", said))
    }
    try:
        return with_shuffle([ROOT, BELOW], own)[1].shuffle
    except Refused as error:
        return str(error)


@given(above=st.sampled_from(ABOVE), said=words(), data=st.data())
def test_every_order_of_words_comes_to_the_same(
    above: dict[str, str], said: dict[str, str], data: st.DataObject
) -> None:
    again = {name: said[name] for name in data.draw(st.permutations(list(said)))}
    one, other = outcome(above, said), outcome(above, again)
    if isinstance(one, str):
        assert MARKER in one, "by name"
        assert isinstance(other, str)
    else:
        assert one == other
