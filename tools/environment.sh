# Sourced by quickstart, test and newest: makes $venv hold this checkout and what it needs, and sets $python to it.
# Runs from the top of the checkout.

venv=${KB_TOOLS_VENV:-.venv}

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'

find_python() {
  local name
  for name in python3.13 python3.12 python3.11 python3; do
    if "$name" -c "$supported" 2>/dev/null; then
      printf '%s\n' "$name"
      return
    fi
  done
  echo "error: kb needs Python 3.11, 3.12 or 3.13, and none of them was found" >&2
  echo "  hint: macOS: brew install python@3.13    Debian, Ubuntu: apt install python3 python3-venv" >&2
  return 1
}

# A $venv whose interpreter is gone (after an upgrade of the system's Python) or has no pip is made again.
ensure_venv() {
  python=$venv/bin/python
  if ! can_write_in .; then
    echo "error: nothing can be written into $PWD" >&2
    echo "  hint: clone kb into a directory of your own" >&2
    return 1
  fi
  if "$python" -c "import pip; $supported" 2>/dev/null; then
    return
  fi
  local system_python
  system_python=$(find_python)
  echo "Making $venv with $("$system_python" --version)"
  if ! "$system_python" -c 'import ensurepip, venv' 2>/dev/null; then
    echo "error: $system_python comes without the modules that make virtual environments" >&2
    echo "  hint: Debian, Ubuntu: apt install python3-venv" >&2
    return 1
  fi
  if ! "$system_python" -m venv --clear "$venv"; then
    echo "error: $system_python could not make a virtual environment in $PWD/$venv" >&2
    echo "  hint: the lines above say why; where $venv belongs to somebody else, remove it" >&2
    return 1
  fi
}

# can_write_in DIRECTORY: whether a file can be made there: not where the user may not, nor on a disk that is full.
can_write_in() {
  local probe=$1/.writable.$$
  (: >"$probe") 2>/dev/null && rm -f "$probe"
}

# locked PART…: the entries of tools/lock.txt that these parts of kb need.
locked() {
  awk -v parts=" $* " '
    /^# [a-z]/ { wanted = 0; for (i = 2; i <= NF; i++) if (index(parts, " " $i " ")) wanted = 1; next }
    /^#/ { next }
    wanted' tools/lock.txt
}

# ensure_installed PART…: kb with these extras, of exactly the versions of the lock; nothing is done where pyproject.toml,
# the lock, the checkout's place and the parts are those of last time.
ensure_installed() {
  local stamp=$venv/installed wanted
  wanted=$({ pwd; echo "$*"; cat pyproject.toml tools/lock.txt; })
  if [ -f "$stamp" ] && [ "$wanted" = "$(cat "$stamp")" ]; then
    return
  fi
  rm -f "$stamp"
  echo "Installing kb and its libraries into $venv (the first time takes a minute or two)"
  # What builds the others is there first, so that nothing that the lock does not name is fetched.
  if ! { install_locked build && install_locked base build "$@" && install_itself; }; then
    echo "error: pip could not install kb" >&2
    echo "  hint: the lines above say why; the first installation needs a network connection" >&2
    return 1
  fi
  printf '%s\n' "$wanted" >"$stamp"
}

install_locked() {
  locked "$@" >"$venv/locked.txt"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --require-hashes \
    --requirement "$venv/locked.txt"
}

install_itself() {
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
}

# llama-cpp-python has no wheels; building one takes eight minutes on two idle cores, so it is kept outside the
# checkout, in $KB_WHEEL_CACHE, for this machine's processor. It is the same for every Python.
wheel_cache=${KB_WHEEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/kb-wheels}
# Built for a processor with AMX, 0.3.36 ends in a segmentation fault with its first token where a virtual machine keeps
# AMX from the process; so it is built without.
without_amx=
if grep -qs '\<amx_int8\>' /proc/cpuinfo; then
  without_amx="-mno-amx-tile -mno-amx-int8 -mno-amx-bf16"
  wheel_cache=$wheel_cache/without-amx
fi
llama_cpp_requirement() {
  locked llm | sed -n 's/^\(llama-cpp-python==[^ ]*\).*/\1/p'
}

# keep_llama_cpp_wheel: builds the wheel unless one that serves is there.
keep_llama_cpp_wheel() {
  local requirement
  requirement=$(llama_cpp_requirement)
  mkdir -p "$wheel_cache"
  if "$python" -m pip install --quiet --disable-pip-version-check --dry-run --ignore-installed --no-deps --no-index \
    --find-links "$wheel_cache" "$requirement" 2>/dev/null; then
    return
  fi
  echo "Building llama-cpp-python once, into $wheel_cache"
  CFLAGS="${CFLAGS-} $without_amx" CXXFLAGS="${CXXFLAGS-} $without_amx" \
    "$python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-cache-dir --wheel-dir "$wheel_cache" \
    "$requirement"
}

# install_llama_cpp: puts the wheel that was kept into $venv, and what it needs.
install_llama_cpp() {
  "$python" -c 'import llama_cpp' 2>/dev/null && return
  locked llm | sed '/^llama-cpp-python==/,/^$/d' >"$venv/locked.txt"
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --requirement "$venv/locked.txt" &&
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-index --find-links "$wheel_cache" \
      "$(llama_cpp_requirement)"
}

# run_tests [ARGUMENT…]: what a change must pass; the arguments go to pytest.
run_tests() {
  local failed=
  shown ruff check . || failed="$failed ruff"
  shown ruff format --check . || failed="$failed ruff"
  shown mypy || failed="$failed mypy"
  run_pytest "$@" || failed="$failed pytest"
  if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    return 1
  fi
}

# run_pytest [ARGUMENT…]: the tests alone.
run_pytest() {
  # Hundreds of processes of kb are started; without it each would compile kb again.
  unset PYTHONDONTWRITEBYTECODE
  shown pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder -m "not slow" --durations=25 "$@"
}

# shown MODULE [ARGUMENT…]: runs a module of $venv, and says so.
shown() {
  echo "$ $*"
  "$python" -m "$@"
}
