"""Entry point of `gbrain` and `python -m gbrain`."""

import gc
import os
import sys


def main() -> None:
    """Run a command, in a warm process if there is one, or complete a word for a shell."""
    # Startup creates many objects and little garbage: collect less often.
    gc.set_threshold(100_000, 50, 50)
    if "_GBRAIN_COMPLETE" in os.environ:
        from gbrain.cli.completer import main as run
    else:
        from gbrain.server.client import run_warm

        code = run_warm(sys.argv[1:])
        if code is not None:
            os._exit(code)
        from gbrain.cli.main import main as run
    run()


if __name__ == "__main__":
    main()
