"""Entry point of `gbrain` and `python -m gbrain`."""

import gc
import os


def main() -> None:
    """Run a command, or complete a word for a shell without importing the commands."""
    # Startup creates many objects and little garbage: collect less often.
    gc.set_threshold(100_000, 50, 50)
    if "_GBRAIN_COMPLETE" in os.environ:
        from gbrain.cli.completer import main as run
    else:
        from gbrain.cli.app import main as run
    run()


if __name__ == "__main__":
    main()
