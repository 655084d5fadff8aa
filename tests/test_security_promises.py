"""Each promise of the security part of gbrain/README.md has a test that exists."""

from __future__ import annotations

import ast
import re
import socket
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.server import socket_server
from gbrain.server.client import exchange, find_socket, request_fields
from gbrain.server.protocol import STOP
from gbrain.server.socket_server import serve_in_background

TESTS = Path(__file__).parent
README = TESTS.parent / "gbrain" / "README.md"
ORACLE = "faults/test_limited_oracle.py::test_brains_that_differ_in_what_is_hidden_answer_alike"
HERE = "test_security_promises.py"

# How each promise begins, and tests of it.
PROMISES = {
    "No text of a page, name or setting is executed": (
        "faults/test_escapes.py::test_no_foreign_control_characters_on_a_terminal",
        "faults/test_escapes.py::test_html_contains_no_active_elements_of_pages",
        "faults/test_processes.py::test_an_editor_gets_only_a_file_name",
        "faults/test_processes.py::test_a_rerank_command_gets_pages_only_on_standard_input",
        "faults/test_processes.py::test_a_module_in_the_imported_folder_is_not_loaded",
    ),
    "Programs are started in five places only": (
        "faults/test_processes.py::test_processes_are_started_only_in_known_places",
    ),
    "A warm process answers the same user only": (
        "cli/test_warm.py::test_the_socket_belongs_to_its_user_alone",
        f"{HERE}::test_a_warm_process_answers_no_other_user",
    ),
    "A `rerank_command` or model folder named in a brain runs only after": (
        "cli/test_trust.py::test_what_came_with_a_file_is_not_run",
        "cli/test_models.py::test_a_model_that_came_with_the_file_is_not_opened",
    ),
    "`trust.py` remembers that outside the brain": (
        "cli/test_trust.py::test_another_brain_with_the_same_command_asks",
        "cli/test_trust.py::test_a_command_is_stored_with_absolute_paths",
    ),
    "Brain files with triggers, views or tables that gbrain did not create are refused": (
        "faults/test_corruption.py::test_a_damaged_brain_is_refused_or_repaired",
        "store/doctor/test_examine.py::test_foreign_objects_stop_all_later_checks",
    ),
    "Files are private (mode 0600) from the first moment": (
        "faults/test_modes.py::test_other_users_can_never_read_written_files",
        "store/test_atomic_files.py::test_all_of_a_file_is_on_the_disk_before_it_gets_its_name",
        "store/test_atomic_files.py::test_another_file_is_left_as_it_is",
    ),
    "Only page files are written, removed or moved, inside folders that the user named": (
        "importing/test_write_through.py::test_a_folder_that_nobody_named_here_is_not_written",
        "importing/test_write_through.py::test_a_copy_of_the_brain_writes_no_files",
        "importing/test_write_through.py::test_a_folder_swapped_for_a_link_leads_nothing_out",
    ),
    "Import follows no link out of its folder": (
        "importing/test_importer.py::test_symlinks_out_of_the_folder_are_not_imported",
        "importing/test_importer.py::test_unreadable_ignore_rules_stop_the_import",
    ),
    "Errors and logs quote no page text": (
        "faults/test_secrets.py::test_no_error_of_a_command_quotes_a_page",
        "faults/test_secrets.py::test_no_tool_quotes_a_broken_cell",
        "server/test_hostile_clients.py::test_an_unexpected_error_tells_nothing_of_the_page",
    ),
    "In a context for an LLM only gbrain writes titles and citations": (
        "output/test_answer_text.py::test_a_printed_context_can_be_read_back",
        "output/test_answer_text.py::test_titles_and_headings_have_no_citation",
        "output/test_answer_text.py::test_every_entrance_tells_whose_words_they_are",
    ),
    "gbrain connects to nothing but the PostgreSQL servers": (
        f"{HERE}::test_commands_connect_to_nothing",
        "remotes/test_push_pull.py::test_a_brain_from_elsewhere_cannot_choose_where_pages_go",
    ),
    "Servers on other machines prove their name with a certificate": (
        "store/postgres/test_connection.py::test_other_machines_must_prove_their_name",
        "store/postgres/test_connection.py"
        "::test_a_certificate_must_be_for_the_host_and_of_a_known_authority",
    ),
    "Passwords are never stored and are removed": (
        "cli/test_remotes.py::test_no_password_is_shown_or_stored",
        "cli/test_remotes.py::test_a_crafted_brain_with_a_password_shows_none",
    ),
    "Pulled rows are checked like files of unknown origin": (
        "remotes/test_untrusted.py::test_rows_that_are_no_pages_are_refused_one_by_one",
        "remotes/test_untrusted.py::test_a_page_that_is_too_large_is_not_even_fetched",
    ),
    "Whoever may write to the store can still write misleading text": (
        "remotes/test_untrusted.py::test_text_of_a_pulled_page_cannot_act_on_a_terminal",
    ),
    "Only `gbrain serve --http` and `gbrain ui` listen": (
        "cli/test_tokens.py::test_serve_refuses_addresses",
        f"{HERE}::test_commands_connect_to_nothing",
    ),
    "No request without a valid token is answered": (
        "server/test_access.py::test_without_a_token_there_is_no_answer",
        "server/test_access.py::test_no_secret_is_in_the_state_folder",
        "server/test_access.py::test_a_revoked_token_fails_at_once",
    ),
    "Requests that name another host": (
        "server/test_access.py::test_another_host_is_refused",
        "server/test_access.py::test_a_page_of_another_site_is_refused",
        "server/test_hostile_clients.py::test_an_oversized_body_is_refused_before_it_is_read",
        "server/test_hostile_clients.py::test_a_slow_body_is_refused",
    ),
    "Writes are recorded in `audit/`": (
        "server/test_api.py::test_a_page_is_written_read_changed_and_deleted",
    ),
    "`gbrain ui` gives the browser its one-time code": (
        "cli/test_ui.py::test_the_browser_gets_the_code_from_a_private_file",
        "server/test_tokens.py::test_a_code_works_once_and_for_a_minute",
    ),
    "For a limited token other pages do not exist": (
        ORACLE,
        "server/test_access.py::test_no_route_shows_a_page_outside_the_limits",
        "server/test_mcp_over_http.py::test_no_tool_shows_a_page_outside_the_limits",
    ),
    "It reads a copy that has only its pages": (
        ORACLE,
        "test_limited.py::test_it_answers_as_if_there_were_no_other_pages",
        "test_limited.py::test_numbers_skip_what_is_hidden",
        "test_limited.py::test_nothing_outside_can_be_written",
    ),
    "What its pages are called, and what they link to, leads no write of the owner there": (
        "test_limited.py::test_a_name_that_a_token_gave_catches_nothing_of_the_owner",
        "test_limited.py::test_a_title_that_a_token_gave_is_not_written_to_by_the_owner",
        "test_limited.py::test_links_that_a_token_wrote_learn_no_new_names",
    ),
    "One that changed counts when it has stayed the same for a second": (
        "importing/test_missing_files.py::test_an_ignore_file_that_is_being_saved_still_excludes",
    ),
    "It creates pages only where their slug alone allows it": (
        "test_limited.py::test_a_name_elsewhere_cannot_be_claimed",
        "test_limited.py::test_the_guard_refuses_a_claimed_name_from_any_code",
        "test_limited.py::test_a_note_of_the_owner_stays_hidden",
    ),
    "It gets no images": ("server/test_access.py::test_a_hidden_page_is_as_good_as_none",),
    "What remains to be noticed": (
        "test_limited.py::test_a_hidden_page_between_them_closes_the_wing_for_new_ones",
    ),
}


def promises() -> list[str]:
    """Return the sentences of the list of promises."""
    text = README.read_text("utf-8")
    listed = text.partition("Promised, each with tests:\n")[2].partition("\n\nNot promised")[0]
    points = re.split(r"^- ", listed, flags=re.MULTILINE)[1:]
    return [
        sentence
        for point in points
        for sentence in re.split(r"(?<=\.) (?=[A-Z`])", " ".join(point.split()))
    ]


@cache
def names_in(file: str) -> set[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_each_promise_has_a_test() -> None:
    said = promises()
    assert len(said) > 20
    untested = [one for one in said if not one.startswith(tuple(PROMISES))]
    assert untested == []
    # Nor is a promise listed here that is not made any more.
    assert [start for start in PROMISES if not any(one.startswith(start) for one in said)] == []


@pytest.mark.parametrize("start", PROMISES)
def test_the_tests_of_a_promise_exist(start: str) -> None:
    assert PROMISES[start]
    for test in PROMISES[start]:
        file, _, name = test.partition("::")
        assert name in names_in(file), f"{start}: there is no {test}"


# --- tests of promises about the program as a whole ---------------------------------------------


# Fails at every connection to another machine and at every open port.
_OFFLINE = """
import sys
from pathlib import Path

def hear(event, arguments):
    if event == "socket.getaddrinfo" or event.startswith("urllib"):
        Path(sys.argv[1]).write_text(f"{event} {arguments}")
    if event in ("socket.connect", "socket.bind") and not isinstance(arguments[1], (str, bytes)):
        Path(sys.argv[1]).write_text(f"{event} {arguments}")

sys.addaudithook(hear)
from gbrain.__main__ import main
heard, *words = sys.argv[1:]
sys.argv = ["gbrain", *words]
main()
"""

COMMANDS = (
    ("import", "{notes}"),
    ("query", "who waters the roses?", "--rerank", "--depth", "auto"),
    ("explain", "roses"),
    ("put", "pond", "{notes}/garden.md"),
    ("capture", "See https://elsewhere.example/"),
    ("sync",),
    ("doctor",),
    ("export", "{notes}-copy"),
    ("backup", "{notes}.backup"),
    ("graph", "--html", "{notes}.html"),
)


def test_commands_connect_to_nothing(tmp_path: Path, run) -> None:
    notes, heard = tmp_path / "notes", tmp_path / "heard"
    notes.mkdir()
    (notes / "garden.md").write_text(
        "# Garden\n\nRoses. ![x](https://elsewhere.example/x.png) https://elsewhere.example/\n"
    )
    assert run("init").exit_code == 0
    for words in COMMANDS:
        given = [word.format(notes=notes) for word in words]
        ran = subprocess.run(
            [sys.executable, "-c", _OFFLINE, heard, *given], capture_output=True, text=True
        )
        assert ran.returncode == 0, (words, ran.stderr)
        assert not heard.exists(), (words, heard.read_text())


def test_a_connection_of_a_command_would_be_heard(tmp_path: Path) -> None:
    connecting = _OFFLINE.partition("from gbrain")[0] + (
        "import socket\nsocket.socket().connect_ex(('127.0.0.1', 9))\n"
    )
    heard = tmp_path / "heard"
    subprocess.run([sys.executable, "-c", connecting, heard], check=True)
    assert heard.read_text().startswith("socket.connect")


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no sockets in files")
def test_a_warm_process_answers_no_other_user(sample: Path, monkeypatch) -> None:
    stop = request_fields(STOP, ())
    peer_user = socket_server._peer_user
    with serve_in_background(lambda: Brain.open(sample), str(sample)):
        deadline = time.monotonic() + 20
        while (path := find_socket(str(sample))) is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        monkeypatch.setattr(socket_server, "_peer_user", lambda raw: (peer_user(raw) or 0) + 1)
        with pytest.raises(OSError, match=r"not complete|[Bb]roken pipe|reset"):
            exchange(path, stop)
        monkeypatch.setattr(socket_server, "_peer_user", peer_user)
        assert exchange(path, stop)
