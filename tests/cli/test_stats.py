"""The command `stats`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gbrain.brain import Brain
from gbrain.output.stats import fill_months, show_stats
from gbrain.store.stats import PageCount, read_stats

Run = Callable[..., Any]
PAGE = b"---\ntags: [red, blue]\n---\n# One\n\nSee [[two]] and [[nowhere]].\n\n## Timeline\n"


def test_stats_counts_what_the_brain_contains(run: Run, brain_path: Path) -> None:
    run("put", "people/one", stdin=PAGE + b"- 2026-04-03 - Began\n- 2026-05 - Went on\n")
    run("put", "journal/2026-04-09", stdin=b"# A day\n\nThe text of a day #red.\n")
    run("put", "people/one", stdin=PAGE + b"- 2026-04-03 - Began\n")
    run("put", "two", stdin=b"")
    run("alias", "add", "k8s", "kubernetes", "kube")
    document = run("stats", "--json").json
    assert list(document) == [
        "path", "file_bytes", "schema_version", "pages", "page_bytes", "chunks",
        "timeline_entries", "versions", "links", "dangling_links", "tags", "aliases", "vaults",
        "vectors", "jobs", "model", "wings", "rooms", "months", "newest",
    ]  # fmt: skip
    assert document["path"] == str(brain_path)
    assert document["file_bytes"] == brain_path.stat().st_size
    assert document["pages"] == 3
    assert document["page_bytes"] == len(PAGE) + 21 + len("# A day\n\nThe text of a day #red.\n")
    assert document["timeline_entries"] == 1
    assert document["versions"] == 1
    assert (document["links"], document["dangling_links"]) == (2, 1)
    assert (document["tags"], document["aliases"]) == (2, 1)
    assert document["vaults"] == []
    assert document["vectors"] == 0
    assert document["jobs"] >= document["chunks"] > 0
    assert {"wing": "people", "pages": 1} in document["wings"]
    assert document["months"] == [{"month": "2026-04", "pages": 2}]
    assert {page["slug"] for page in document["newest"]} == {
        "people/one", "journal/2026-04-09", "two",
    }  # fmt: skip


@pytest.mark.usefixtures("sample")
def test_stats_of_the_sample(run: Run) -> None:
    document = run("stats", "--json").json
    assert sum(wing["pages"] for wing in document["wings"]) == document["pages"]
    assert sum(room["pages"] for room in document["rooms"]) == document["pages"]
    counts = [wing["pages"] for wing in document["wings"]]
    assert counts == sorted(counts, reverse=True)
    (vault,) = document["vaults"]
    assert vault["pages"] == document["pages"]
    assert len(document["newest"]) == 5


@pytest.mark.usefixtures("sample")
def test_stats_in_a_pipe_prints_names_and_values(run: Run) -> None:
    document = run("stats", "--json").json
    rows = dict(line.split("\t") for line in run("stats").stdout.splitlines())
    assert rows["pages"] == str(document["pages"])
    assert rows["dangling_links"] == str(document["dangling_links"])
    assert document["wings"]
    for wing in document["wings"]:
        assert rows[f"wings.{wing['wing']}"] == str(wing["pages"])


def test_stats_of_an_empty_brain(run: Run, brain_path: Path) -> None:
    Brain.open(brain_path, make=True).close()
    document = run("stats", "--json").json
    assert (document["pages"], document["page_bytes"], document["wings"]) == (0, 0, [])
    assert document["model"] is None


def test_stats_names_the_active_model(run: Run, run_sql: Run, sample: Path) -> None:
    run_sql(
        sample,
        "UPDATE embedding_models SET active = 0",
        "INSERT INTO embedding_models (name, identity, sha256, pooling, query_prefix, "
        "passage_prefix, dimension, max_tokens, description, active, added_at) "
        "VALUES ('tiny', 'tiny', '', 'mean', '', '', 384, 128, '{}', 1, '')",
    )
    assert run("stats", "--json").json["model"] == {"name": "tiny", "dimension": 384}
    rows = dict(line.split("\t") for line in run("stats").stdout.splitlines())
    assert (rows["model.name"], rows["model.dimension"]) == ("tiny", "384")


def test_stats_on_a_terminal_draws_bars_and_months(
    brain: Brain, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        brain.put(f"people/p{number}", f"---\ndate: 2026-0{number + 1}-01\n---\n# P\n".encode())
    brain.put("companies/c", b"---\ndate: 2026-04-02\n---\n# C \x1b[31m\n")
    with brain.database.read_transaction() as connection:
        stats = read_stats(connection)
    for columns in ("40", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        show_stats(Path("brain.db"), stats, "2026-11")
        shown = capsys.readouterr().out
        lines = [line.rstrip() for line in shown.splitlines()]
        assert "\x1b" not in shown
        assert max(map(len, lines)) <= int(columns)
        assert "people     4  ████████████████" in shown
        assert "companies  1  ████" in shown
        assert "2026-01 ▅▅▅█ 2026-04" in lines


def test_months_without_pages_are_shown_but_not_future_ones() -> None:
    months = [PageCount("2025-11", 1), PageCount("2026-02", 4), PageCount("2031-01", 9)]
    assert fill_months(months, "2026-03") == [
        PageCount("2025-11", 1),
        PageCount("2025-12", 0),
        PageCount("2026-01", 0),
        PageCount("2026-02", 4),
    ]
    assert fill_months(months[2:], "2026-03") == [PageCount("2031-01", 9)]
    assert len(fill_months([PageCount("0001-01", 1), *months], "2026-03")) == 36
    assert fill_months([], "2026-03") == []
