#!/bin/sh
# Checks what the build needs and says how to get what is missing. Prints nothing when all is there.
# usage: preflight.sh PYTHON
set -u
python=$1
folder=$(dirname "$0")/..
rust_needed=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' "$folder/Cargo.toml")
missing=0

complain() {
    echo "missing: $1" >&2
    echo "    to install it on Debian or Ubuntu: $2" >&2
    missing=1
}

# Whether version $1 is at least version $2.
at_least() {
    [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

if ! command -v "$python" >/dev/null; then
    complain "Python 3.11 or newer ($python is not there)" "apt install python3 python3-venv"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    complain "Python 3.11 or newer (this is $("$python" --version 2>&1))" \
        "apt install python3.11 python3.11-venv, then make PYTHON=python3.11"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    complain "the venv module of $("$python" --version)" "apt install python3-venv"
fi

if ! command -v cargo >/dev/null || ! command -v rustc >/dev/null; then
    complain "Rust $rust_needed or newer" \
        "apt install rustup && rustup default stable, or follow rustup.rs where apt has no rustup"
elif ! at_least "$(rustc --version | cut -d ' ' -f 2)" "$rust_needed"; then
    complain "Rust $rust_needed or newer (this is $(rustc --version))" "rustup update stable"
fi

if ! command -v cc >/dev/null; then
    complain "a C compiler" "apt install build-essential"
fi

exit "$missing"
