"""`python -m gbrain` is the same program as `gbrain`."""

from gbrain.cli.app import main

main()
