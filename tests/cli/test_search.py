from __future__ import annotations


def test_one(run, sample):
    found = run("search", "river", "--json")
    assert found.exit_code == 0
    assert found.json["results"]
