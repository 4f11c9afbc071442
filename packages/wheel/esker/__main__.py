"""`python -m esker`: the binary in the place of this process."""

import os
import sys

from esker import binary_path

if __name__ == "__main__":
    try:
        binary = binary_path()
        os.execv(binary, [binary, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"esker: {error}")
