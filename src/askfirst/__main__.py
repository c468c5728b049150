"""`python -m askfirst`."""

from askfirst.cli import main

if __name__ == "__main__":
    main()
