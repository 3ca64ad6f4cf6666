"""Names are mapped by hadoop.security.auth_to_local: expected values are KerberosName's."""

from __future__ import annotations

import pytest

from yodel.domain.auth_to_local import AuthToLocal, Mechanism
from yodel.errors import InvalidValue

RULES = r"""
RULE:[1:$1@$0](.*@YAHOO\.COM)s/@.*//
RULE:[2:$1](johndoe)s/^.*$/guest/
RULE:[2:$1;$2](^.*;admin$)s/;admin$//
RULE:[2:$2](root)
RULE:[1:$1@$0](.*@UP\.COM)s/(.)(.*)@.*/$2$10/L
RULE:[1:$1@$0](.*@G\.COM)s/o/0/g
DEFAULT
"""


def short(principal: str, rules: str = RULES, mechanism: Mechanism = "hadoop") -> str:
    return AuthToLocal(rules, mechanism, "APACHE.ORG").short_name(principal).name


@pytest.mark.parametrize(
    ("principal", "user"),
    [
        ("omalley@APACHE.ORG", "omalley"),
        ("hdfs/10.0.0.1@APACHE.ORG", "hdfs"),
        ("oom@YAHOO.COM", "oom"),
        ("johndoe/zoo@FOO.COM", "guest"),
        ("joe/admin@FOO.COM", "joe"),
        ("joe/root@FOO.COM", "root"),
        ("Alice@UP.COM", "licea0"),
        ("bob", "bob"),
    ],
)
def test_first_rule_that_applies_names_the_user(principal: str, user: str) -> None:
    assert short(principal) == user


def test_all_matches_are_replaced_only_with_g() -> None:
    assert short("foo@G.COM", r"RULE:[1:$1@$0](.*@G\.COM)s/@.*//", "hadoop") == "foo"
    assert short("foo@G.COM", "RULE:[1:$1]s/o/0/g") == "f00"
    assert short("foo@G.COM", "RULE:[1:$1]s/o/0/") == "f0o"
    assert short("foo@G.COM", r"RULE:[1:$1]s/(o)/\$$1/") == "f$oo"


def test_rule_is_named_with_the_user() -> None:
    found = AuthToLocal("RULE:[1:x$1]\nDEFAULT", "hadoop", "APACHE.ORG").short_name("bob@ELSEWHERE")
    assert (found.name, found.rule) == ("xbob", "RULE:[1:x$1]")


@pytest.mark.parametrize(
    ("principal", "rules", "reason"),
    [
        ("foo@ACME.COM", RULES, "No rules applied to foo@ACME.COM"),
        ("foo@ACME.COM", "", "No rules applied to foo@ACME.COM"),
        ("foo@ACME.COM", "RULE:[1:$1@$0]", "Non-simple name foo@ACME.COM after auth_to_local rule RULE:[1:$1@$0]"),
        ("a/b/c@ACME.COM", RULES, "component"),
        ("a@b@ACME.COM", RULES, "component"),
        ("/a@ACME.COM", RULES, "component"),
        (f"{'a' * 2000}@ACME.COM", RULES, "component"),
    ],
)
def test_principal_without_a_user_is_refused(principal: str, rules: str, reason: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        short(principal, rules)
    assert reason in str(caught.value)


def test_mit_takes_any_name() -> None:
    assert short("foo@ACME.COM", RULES, "mit") == "foo@ACME.COM"
    assert short("foo@ACME.COM", "RULE:[1:$1/x]", "mit") == "foo/x"


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ("RULE:[1:$1", "DEFAULT or RULE"),
        ("NONSENSE", "NONSENSE"),
        ("DEFAULT nonsense", "nonsense"),
        ("RULE:[1:$2]", r"\$0 to \$1"),
        ("RULE:[1:$]", r"\$0 to \$1"),
        ("RULE:[1:$1]((a))", "regular expression"),
        ("RULE:[1:$1](a{2,1})", "regular expression"),
        ("RULE:[1:$1]s/a/$1/", "names groups"),
        ("RULE:[1:$1]s/a/${x}/", "escaped"),
        (r"RULE:[1:$1]s/a/b\/", "escaped"),
        ("RULE:[1:$1]s/a/$/", "escaped"),
        ("DEFAULT\n" * 20_000, "at most"),
    ],
)
def test_rule_that_cannot_be_read_is_refused_at_once(rules: str, reason: str) -> None:
    with pytest.raises(InvalidValue, match=reason):
        AuthToLocal(rules, "hadoop", "APACHE.ORG")


def test_pattern_that_takes_for_ever_ends_with_a_refusal() -> None:
    rules = AuthToLocal("RULE:[1:$1]s/(x+x+)+y//\nDEFAULT", "hadoop", "APACHE.ORG")
    with pytest.raises(InvalidValue, match="took more than"):
        rules.short_name(f"{'x' * 1000}@APACHE.ORG")
