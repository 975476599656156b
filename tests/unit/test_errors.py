"""The forms that error messages share."""

from onceproof.errors import invalid, missing, out_of_range, unknown


def test_each_form_names_the_value_the_problem_and_the_remedy():
    assert unknown("sink", "x", ("b", "a")) == "unknown sink 'x'; choose one of a, b"
    assert unknown("writer", "x", ()) == "unknown writer 'x'; there is none to choose"
    assert invalid("writer name", "a b", "letters") == "invalid writer name 'a b'; use letters"
    assert out_of_range("--workers", 9, "1 to 8") == "--workers 9 is out of range; use 1 to 8"
    assert missing("key", "key: [order_id]") == "key is missing; write key: [order_id]"


def test_the_nearest_choice_is_suggested():
    message = unknown("sink", "upsert_tabel", ("upsert_table", "append_table"))
    assert message == (
        "unknown sink 'upsert_tabel'; did you mean 'upsert_table'?"
        " Choose one of append_table, upsert_table"
    )
    listed = unknown("tag", "ful", ("full",), listed_by="`onceproof list`")
    assert listed == "unknown tag 'ful'; did you mean 'full'? `onceproof list` lists all"
