"""Training the learned reranker, and measuring its gain on unseen questions."""

from __future__ import annotations

from random import Random

import pytest

from gbrain.search.rerank.learned import FEATURES, TrainingQuestion, fit, train

COSINE = FEATURES.index("cosine")
FUSED = FEATURES.index("fused")
OPENS = FEATURES.index("opens")


def asked(count: int, telling: int) -> list[TrainingQuestion]:
    """Questions with ten hits each; who is opened shows in the feature `telling`, mostly."""
    random = Random(1)
    questions = []
    for _ in range(count):
        rows = [[random.random() for _ in FEATURES] for _ in range(10)]
        rows.sort(key=lambda row: -row[FUSED])
        wanted = max(range(10), key=lambda place: rows[place][telling] + random.gauss(0, 0.1))
        questions.append(
            TrainingQuestion(tuple(map(tuple, rows)), tuple(place == wanted for place in range(10)))
        )
    return questions


def test_a_habit_is_learned_for_unseen_questions() -> None:
    trained = train(asked(80, OPENS))
    assert trained.helps
    assert (trained.questions, trained.opened) == (80, 80)
    assert trained.mrr_before < 0.45
    assert trained.mrr_after > 0.7
    gain = trained.mrr_after - trained.mrr_before
    assert 0 < trained.low < gain < trained.high


def test_a_right_order_leaves_no_gain() -> None:
    trained = train(asked(80, FUSED))
    assert not trained.helps
    assert trained.mrr_after > 0.6


def test_the_same_questions_give_the_same_network() -> None:
    questions = asked(30, COSINE)
    assert train(questions) == train(questions)


def test_the_network_prefers_what_was_opened() -> None:
    low, high = [0.0] * 10, [0.0] * 10
    high[COSINE] = 1.0
    network = fit([TrainingQuestion((tuple(low), tuple(high)), (False, True))] * 5)
    assert network.score(high) > network.score(low)


def test_questions_without_a_choice_are_left_out() -> None:
    row = (0.5,) * 10
    silent = [
        TrainingQuestion((row, row), (False, False)),
        TrainingQuestion((row,), (True,)),
        TrainingQuestion((), ()),
    ]
    questions = asked(20, COSINE)
    assert train([*questions, *silent]).questions == 20


@pytest.mark.parametrize("count", [1, 2])
def test_a_handful_of_questions_can_be_trained_on(count: int) -> None:
    assert train(asked(count, COSINE)).questions == count
