"""`python -m onceproof` is `onceproof`."""

from onceproof.cli import main

if __name__ == "__main__":
    main()
