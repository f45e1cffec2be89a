#!/usr/bin/env bash
# Installs what is missing on Debian 12, builds everything and runs all tests: optimised with g++, then with clang under
# the address and undefined behaviour sanitizers, then what threads share under the thread sanitizer.
#
#   deploy/test.sh                       # all three
#   deploy/test.sh --release-only        # without the sanitizers
#   deploy/test.sh --asan-label server   # under the address sanitizer only the tests of one folder of tests/
#
# SSD_DATA_DIR: folder of the binary CIFAR-10; tests that need it are skipped without. SSD_NO_SKIP=1: a skipped test fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

release_only=false
asan_label=
while [ $# -gt 0 ]; do
  case "$1" in
    --release-only) release_only=true ;;
    --asan-label)
      asan_label=${2:?--asan-label needs the name of a folder of tests/}
      shift
      ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    *)
      echo "error: unknown argument \"$1\"; usage: $0 [--release-only] [--asan-label LABEL]" >&2
      exit 2
      ;;
  esac
  shift
done

deploy/install_dependencies.sh test

# The tests' Python, with the packages that read our files as users would. Made again when the list changes.
venv=build/venv
if ! cmp -s tests/requirements.txt "$venv/requirements.txt"; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r tests/requirements.txt
  cp tests/requirements.txt "$venv/requirements.txt"
fi
export SSD_PYTHON="$PWD/$venv/bin/python"

# run_tests PRESET CTEST_ARGUMENT...
run_tests() {
  local preset=$1
  shift
  cmake --preset "$preset" -DSSD_TESTS=ON --log-level=WARNING
  cmake --build --preset "$preset"
  ctest --preset "$preset" -j2 --no-tests=error "$@"
  # ctest keeps the whole output of every test, also of those that pass.
  local log=build/$preset/Testing/Temporary/LastTest.log
  # Suites named Gpu... want what few machines have, and say so where they are skipped.
  if [ -n "${SSD_NO_SKIP:-}" ] && grep -E '\[  SKIPPED \]|Test Skipped|^SKIP' "$log" |
    grep -vE 'SKIPPED \] ([^ ]*Gpu|[0-9]+ tests?, listed)' | sort -u | grep .; then
    echo "error: $preset: the tests above were skipped, and SSD_NO_SKIP is set" >&2
    exit 1
  fi
}

run_tests release
if ! $release_only; then
  export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
  run_tests asan ${asan_label:+-L "^$asan_label\$"}
  run_tests tsan
fi
