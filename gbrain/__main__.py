"""The program: `gbrain`, and `python -m gbrain`."""

import gc
import os


def main() -> None:
    """Runs a command; a shell that completes a word gets its answer without loading them."""
    # Starting makes many objects and hardly any garbage.
    gc.set_threshold(100_000, 50, 50)
    if "_GBRAIN_COMPLETE" in os.environ:
        from gbrain.cli.completer import main as run
    else:
        from gbrain.cli.app import main as run
    run()


if __name__ == "__main__":
    main()
