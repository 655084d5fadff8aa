"""Speakers of chats, interviews and meeting notes, and of whom they speak."""

from __future__ import annotations

import pytest

from gbrain.text.conversations import asked_speaker, read_conversation

CHAT = """\
Ann: Hey Ben! I ran a race on Saturday. It was cold.
Ben: Great that you ran! [shared image: me on a bike]
Ann: Thanks, Ben! How is your garden?
Ben: I bet you would like it. Ann has seen my tomatoes.
"""


def said_of(text: str) -> list[tuple[str, dict[str, float]]]:
    conversation = read_conversation(text)
    assert conversation
    return [(remark.text.strip(), dict(remark.about)) for remark in conversation.remarks]


def test_pronouns_tell_of_whom_a_sentence_speaks() -> None:
    said = dict(said_of(CHAT))
    assert said["I ran a race on Saturday."] == {"Ann": 1.0}
    assert said["Great that you ran! [shared image: me on a bike]"] == {"Ann": 1.0}
    assert said["How is your garden?"] == {"Ben": 1.0}
    assert said["I bet you would like it."] == {"Ben": 0.6, "Ann": 0.6}
    assert said["It was cold."]["Ann"] > said["It was cold."]["Ben"] > 0
    assert said["Ann has seen my tomatoes."] == {"Ben": 1.0}


def test_a_speaker_who_is_named_is_spoken_of() -> None:
    said = dict(said_of(CHAT + "Ben: Yesterday the boss told Ann about it.\n"))
    assert said["Yesterday the boss told Ann about it."]["Ann"] == 1.0
    assert said["Thanks, Ben!"]["Ann"] > said["Thanks, Ben!"]["Ben"]


@pytest.mark.parametrize(
    "labels",
    [
        ("Ann: ", "Ben: "),
        ("**Ann:** ", "**Ben:** "),
        ("- **Ann**: ", "- **Ben**: "),
        ("[12:30] Ann: ", "[12:31] Ben: "),
        ("12.03.24, 18:22 - Ann: ", "12.03.24, 18:23 - Ben: "),
        ("[2024-03-12 6:22 PM] Ann: ", "[2024-03-12 6:23 PM] Ben: "),
        ("Ann (00:12): ", "Ben (00:14): "),
        ("<Ann> ", "<Ben> "),
        ("> Ann: ", "> Ben: "),
        ("**Ann:**\n", "**Ben:**\n"),
    ],
)
def test_labels_of_speakers(labels: tuple[str, str]) -> None:
    lines = [f"{labels[n % 2]}I have a plan, do you?\n" for n in range(4)]
    conversation = read_conversation("# Talk\n\n" + "".join(lines))
    assert conversation
    assert conversation.speakers == ("Ann", "Ben")
    assert [remark.text.strip() for remark in conversation.remarks] == [
        "I have a plan, do you?"
    ] * 4


def test_a_question_is_about_those_who_answer() -> None:
    said = dict(
        said_of(
            "Host: What was the hardest part?\nAnn: I had to get up at three.\n"
            "Ben: My bread was flat.\nHost: What is next?\nAnn: I want a bigger shop.\n"
            "Ben: And I a holiday.\n"
        )
    )
    assert said["What was the hardest part?"] == {"Ann": 1.0, "Ben": 1.0}


def test_a_heading_ends_what_someone_says() -> None:
    said = said_of(f"{CHAT}\n## Shopping\n\nMilk and rice\n")
    assert not any("Milk" in text for text, _ in said)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Status: open\nOwner: Ann\nDue: Friday\n",
        "Ann: I am here.\nAnn: Still here.\n",
        "https://one.example\nhttps://two.example\nhttps://three.example\n",
    ],
)
def test_other_text_is_no_conversation(text: str) -> None:
    assert read_conversation(text) is None


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What did Ann win?", "Ann"),
        ("what did ann win", "Ann"),
        ("Was war Anns Plan?", "Ann"),
        ("What is Ann's plan?", "Ann"),
        ("What did Ann give Ben?", None),
        ("What did the boss win?", None),
        ("What did I tell Ann?", None),
        ("Who gave Ann the ring?", None),
        ("Who did Ann meet?", "Ann"),
        ("Wer hat Ann getroffen?", None),
    ],
)
def test_whom_a_question_asks_about(question: str, asked: str | None) -> None:
    conversation = read_conversation(CHAT)
    assert conversation
    assert asked_speaker(question, conversation) == asked


def test_fields_of_a_form_are_no_people() -> None:
    form = "Status: open\nOwner: Kim\n\nStatus: closed\nOwner: Lee\n"
    conversation = read_conversation(form)
    assert conversation
    assert asked_speaker("what is the status of the boiler", conversation) is None
    minutes = "- Kim: sends the offer\n- Lee: calls the bank\n- Kim: pays\n- Lee: signs\n"
    conversation = read_conversation(minutes)
    assert conversation
    assert asked_speaker("What will Kim pay?", conversation) == "Kim"


def test_pronouns_of_other_languages() -> None:
    chat = (
        "Jörg: Ich habe gestern den Zaun gestrichen und das Tor repariert.\n"
        "Mia: Das hast du gut gemacht, und es ist auch nicht zu dunkel.\n"
        "Jörg: Wie war es bei dir, und was ist mit der Prüfung?\n"
        "Mia: Ich habe sie bestanden, aber es war nicht leicht.\n"
    )
    about = [people for _, people in said_of(chat)]
    assert about == [{"Jörg": 1.0}, {"Jörg": 1.0}, {"Mia": 1.0}, {"Mia": 1.0}]


def test_a_turn_of_brackets_takes_linear_time() -> None:
    """It took 7 s with 40,000 of them, and hours with as many as a line may have."""
    turns = f"Ann: I saw you.\nBob: You did. I {'[' * 400_000}\nAnn: I like you\nBob: I am x\n"
    conversation = read_conversation(turns)
    assert conversation is not None
    assert set(conversation.speakers) == {"Ann", "Bob"}
