"""`python -m neglog`: the command line."""

from neglog.cli import main

if __name__ == "__main__":
    main()
