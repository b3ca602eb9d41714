"""Runs the binary of Junction that this package contains."""

import os
import subprocess
import sys


def main():
    name = "junction.exe" if os.name == "nt" else "junction"
    binary = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    if os.name == "nt":
        process = subprocess.Popen([binary, *sys.argv[1:]])
        while True:
            try:
                sys.exit(process.wait())
            except KeyboardInterrupt:  # Junction got it, too
                pass
    os.execv(binary, [binary, *sys.argv[1:]])


if __name__ == "__main__":
    main()
