"""A real server in a process of its own, spoken to in lines that need not make sense."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

_HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "anybody", "version": "0"},
}


class Speaker:
    """A client that holds its end of the pipe itself, so that anything can be said."""

    def __init__(self, brain: Path) -> None:
        self._numbers = count(1)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the server)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gbrain", "serve", "--db", str(brain)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "GBRAIN_NOW": "2026-11-16T12:00:00"},
        )
        self._ask("initialize", _HELLO)
        self._say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def speak(self, calls: list[tuple[str, Any]], noise: list[str]) -> None:
        """Each call is answered, by a result that says nothing of a bug or by an error."""
        for line in noise:
            self._write(line.replace("\n", " ").encode("utf-8", "surrogatepass"))
        for tool, arguments in calls:
            answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
            assert ("result" in answer) != ("error" in answer), answer
            assert '"internal"' not in json.dumps(answer), answer

    def close(self) -> None:
        """Ends the server, which must have nothing to complain of."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        code = self._process.wait(timeout=60)
        self._process.stdout.close()
        self._errors.seek(0)
        said = self._errors.read().decode()
        self._errors.close()
        assert code == 0, said
        assert "Traceback" not in said, said

    def _ask(self, method: str, parameters: Any) -> Any:
        number = next(self._numbers)
        self._say({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == number:
                return answer
        raise AssertionError("the server is gone")

    def _say(self, message: Any) -> None:
        self._write(json.dumps(message).encode())

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()
