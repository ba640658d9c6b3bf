"""A rule of the API server as an entry of the CRD's schema."""

from __future__ import annotations

from collectorfleet_api.rules.cel import RULES, Rule


def test_a_rule_has_only_what_it_says() -> None:
    assert Rule("self.a > 0", "a: use 1 or more").to_schema() == {"rule": "self.a > 0", "message": "a: use 1 or more"}


def test_a_rule_has_its_sentence_with_numbers_its_field_and_whether_it_holds_for_a_new_object() -> None:
    rule = Rule("self.a > 0", "a: use 1 or more", "'a: %d'.format([self.a])", ".a", on_create_too=True)
    assert rule.to_schema() == {
        "rule": "self.a > 0",
        "message": "a: use 1 or more",
        "messageExpression": "'a: %d'.format([self.a])",
        "fieldPath": ".a",
        "optionalOldSelf": True,
    }


def test_a_rule_reads_the_object_before_the_change_as_an_optional_only_if_it_holds_for_a_new_one() -> None:
    rules = [rule for of_place in RULES.values() for rule in of_place]
    optional = [rule for rule in rules if rule.on_create_too]
    assert optional
    assert [rule.rule for rule in optional if "oldSelf" not in rule.rule] == []
