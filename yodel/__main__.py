"""``python -m yodel`` and the console script."""

from yodel.cli import main

if __name__ == "__main__":
    main()
