"""Reranking an answer: who is asked, who is not, and what is left when it fails."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable

import pytest

from gbrain.config import find_setting
from gbrain.errors import ModelUnavailable
from gbrain.rerankers.together import KINDS

QUESTION = "who would rather not send notes to a hosted service?"


def test_every_kind_that_can_be_set_is_known() -> None:
    assert find_setting("rerank").choices == ("off", *KINDS)


@pytest.mark.parametrize("kind", ["cross-encoder", "overlap"])
def test_the_head_is_reordered_and_the_tail_stays(ask: Callable, kind: str) -> None:
    fused = ask(QUESTION)
    found = fused.reranked(rerank=kind, rerank_head="5", rerank_mix="1")
    assert (found.how, found.pages, found.skipped, found.notice) == (kind, 5, None, None)
    assert 5 <= found.passages <= 15
    assert found.ranked[5:] == fused.ranked[5:]
    assert {page.slug for page in found.ranked[:5]} == {page.slug for page in fused.ranked[:5]}
    assert all("rerank" in page.lanes for page in found.ranked[:5])
    assert fused.reranked(rerank=kind, rerank_head="5", rerank_mix="1") == found


def test_where_the_lanes_agree_nobody_is_asked(ask: Callable) -> None:
    fused = ask("how do I back up a SQLite database while it is in use?")
    fused = fused._replace(helpers=fused.helpers._replace(cross_encoder=never))
    found = fused.reranked(rerank="cross-encoder", unanimity="on")
    assert found.skipped == "the lanes agree"
    assert found.ranked == fused.ranked


def never() -> None:
    raise AssertionError("nobody needs this model")


def test_one_page_needs_no_second_opinion(ask: Callable) -> None:
    fused = ask(QUESTION)
    alone = fused._replace(ranked=fused.ranked[:1]).reranked(rerank="command")
    assert (alone.ranked, alone.skipped) == (fused.ranked[:1], "fewer than two pages")
    assert fused._replace(ranked=[]).reranked(rerank="overlap").ranked == []


def test_a_model_that_fails_leaves_the_order_as_it_was(ask: Callable) -> None:
    def broken() -> None:
        raise ModelUnavailable("model.onnx is missing.", hint="Reinstall gbrain.")

    fused = ask(QUESTION)
    fused = fused._replace(helpers=fused.helpers._replace(cross_encoder=broken))
    found = fused.reranked(rerank="cross-encoder")
    assert found.ranked == fused.ranked
    assert found.notice == "Not reranked: model.onnx is missing. Reinstall gbrain."


def test_a_command_that_fails_leaves_the_order_as_it_was(ask: Callable) -> None:
    fused = ask(QUESTION, command="/no/such/program")
    found = fused.reranked(rerank="command", rerank_command="true")
    assert found.ranked == fused.ranked
    assert found.notice is not None
    assert found.notice.startswith("Not reranked: rerank_command did not start: ")


def test_a_command_decides_the_order(ask: Callable) -> None:
    backwards = "import json, sys; print(list(range(len(json.load(sys.stdin)['passages']))))"
    fused = ask(QUESTION, command=shlex.join([sys.executable, "-c", backwards]))
    found = fused.reranked(rerank="command", rerank_head="4", rerank_mix="1")
    assert [page.slug for page in found.ranked[:4]] == [page.slug for page in fused.ranked[3::-1]]


def test_a_page_whose_passages_are_gone_keeps_its_place(ask: Callable) -> None:
    fused = ask(QUESTION)
    gone = fused.ranked[1]._replace(page_id=10**9, slug="gone", lanes={})
    fused = fused._replace(ranked=[fused.ranked[0], gone, *fused.ranked[2:]])
    found = fused.reranked(rerank="cross-encoder")
    assert found.ranked[1].slug == "gone"
    assert found.notice is None


def test_operators_and_fields_are_no_part_of_the_question(ask: Callable) -> None:
    plain, structured = ask("backup database"), ask("backup database NOT sourdough")
    answers = [
        {page.slug: page.lanes["rerank"].score for page in found.ranked if "rerank" in page.lanes}
        for found in (fused.reranked(rerank="cross-encoder") for fused in (plain, structured))
    ]
    common = answers[0].keys() & answers[1].keys()
    assert len(common) > 3
    assert any(answers[0][slug] == answers[1][slug] for slug in common)


def test_a_kind_loads_only_what_it_needs() -> None:
    script = (
        "import sys, gbrain.rerankers.together\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'subprocess', 'gbrain.models.reranker'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
