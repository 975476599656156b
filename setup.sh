#!/bin/sh
# Creates the virtual environment in .venv from the locks alone.
# Arguments: further locks, which later calls install too. Settings: PYTHON (default: python3). uv uses pip's configured index.
set -eu
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
"$PYTHON" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || {
    echo "$PYTHON is $("$PYTHON" -V 2>&1); use Python 3.11 to 3.13, as in make setup PYTHON=python3.12" >&2
    exit 3
}
[ -x .venv/bin/python ] || "$PYTHON" -m venv .venv
# pip installs only uv; uv installs the rest in seconds and builds pyspark only once.
if ! [ -x .venv/bin/uv ]; then
    sed -n '/^uv==/,/^[^ ]*==/{/^uv==/p;/^    --hash/p}' requirements-dev.lock > .venv/uv.lock
    .venv/bin/python -m pip install --quiet --no-deps --require-hashes -r .venv/uv.lock
fi
index=$(.venv/bin/python -m pip config get global.index-url 2>/dev/null || true)
[ -z "$index" ] || export UV_DEFAULT_INDEX="${UV_DEFAULT_INDEX:-$index}"
printf '%s\n' "$@" >> .venv/locks
set -- $(sort -u .venv/locks | while read -r lock; do [ ! -f "$lock" ] || echo "$lock"; done)
# The locks are complete; a resolver would build pyspark's 450 MB again each time.
# Without bytecode, every process that imports Great Expectations would compile it again.
.venv/bin/uv pip sync --quiet --compile-bytecode --python .venv/bin/python --require-hashes requirements.lock requirements-dev.lock "$@"
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation --editable .
