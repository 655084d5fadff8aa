"""A client that can send anything to a real `gbrain serve` process."""

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


class RawClient:
    """A server process and both ends of its pipe."""

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
        self._request("initialize", _HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call_tools(self, calls: list[tuple[str, Any]], garbage: list[str]) -> None:
        """Send garbage, then calls; each call must get a result or an error, never a bug report."""
        for line in garbage:
            self._write(line.replace("\n", " ").encode("utf-8", "surrogatepass"))
        for tool, arguments in calls:
            answer = self._request("tools/call", {"name": tool, "arguments": arguments})
            assert ("result" in answer) != ("error" in answer), answer
            assert '"internal"' not in json.dumps(answer), answer

    def close(self) -> None:
        """Stop the server; it must exit with 0 and print no traceback."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        code = self._process.wait(timeout=60)
        self._process.stdout.close()
        self._errors.seek(0)
        output = self._errors.read().decode()
        self._errors.close()
        assert code == 0, output
        assert "Traceback" not in output, output

    def _request(self, method: str, parameters: Any) -> Any:
        number = next(self._numbers)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == number:
                return answer
        raise AssertionError("the server has exited")

    def _send(self, message: Any) -> None:
        self._write(json.dumps(message).encode())

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()
