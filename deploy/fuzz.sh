#!/usr/bin/env bash
# Fuzzes what reads bytes of strangers (tests/fuzz), with libFuzzer and the address and undefined behaviour sanitizers.
#
#   deploy/fuzz.sh                          # 60 s for each target, two at a time
#   deploy/fuzz.sh --seconds 1200 frame     # 20 minutes for one
#   deploy/fuzz.sh --merge frame            # adds what was found to reach new code to the tree's corpus
#
# Prints the number of executions of each target. A finding is printed as base64, stays in build/fuzz/findings, and makes
# the exit code 1; `build/fuzz/bin/TARGET_fuzzer FILE` repeats it. What the fuzzers learn is kept in build/fuzz/corpus; the
# seeds in tests/fuzz/corpus are only read.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=60
merge=false
targets=()
while [ $# -gt 0 ]; do
  case "$1" in
    --seconds)
      seconds=${2:?--seconds needs a number}
      [[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "error: --seconds: got \"$seconds\", want a whole number above 0" >&2; exit 2; }
      shift
      ;;
    --merge) merge=true ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*)
      echo "error: unknown argument \"$1\"; usage: $0 [--seconds N] [--merge] [TARGET...]" >&2
      exit 2
      ;;
    *)
      [ -f "tests/fuzz/$1_fuzzer.cc" ] || { echo "error: there is no tests/fuzz/$1_fuzzer.cc" >&2; exit 2; }
      targets+=("$1")
      ;;
  esac
  shift
done
if [ ${#targets[@]} -eq 0 ]; then
  for file in tests/fuzz/*_fuzzer.cc; do
    file=${file##*/}
    targets+=("${file%_fuzzer.cc}")
  done
fi

cmake --preset fuzz --log-level=WARNING
cmake --build --preset fuzz
export ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=0 UBSAN_OPTIONS=print_stacktrace=1
findings=build/fuzz/findings/$(date -u +%Y%m%d-%H%M%S)
mkdir -p "$findings"

# seeds TARGET: the folders of the tree that hold its seeds.
seeds() {
  echo "tests/fuzz/corpus/$1"
  if [ "$1" = experiment ]; then echo deploy/experiments; fi
}

# fuzz TARGET: fuzzes for $seconds; says in one line what came of it. A declared size must not become an allocation, so
# one of 64 MiB is a finding, whether it succeeds or not.
fuzz() {
  local target=$1 log=build/fuzz/$1.log corpus=build/fuzz/corpus/$1 dictionary=tests/fuzz/$1.dict code=0
  local arguments=(-max_total_time="$seconds" -print_final_stats=1 -rss_limit_mb=1024 -malloc_limit_mb=64 -timeout=10
    -artifact_prefix="$findings/$target-")
  if [ -f "$dictionary" ]; then arguments+=(-dict="$dictionary"); fi
  mkdir -p "$corpus"
  # shellcheck disable=SC2046  # the folders' names are ours
  "build/fuzz/bin/${target}_fuzzer" "${arguments[@]}" "$corpus" $(seeds "$target") >"$log" 2>&1 || code=$?
  local executions coverage
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
  if [ "$code" -eq 0 ]; then
    echo "fuzz: $target: ${executions:?$log} executions in $seconds s, ${coverage:-0} edges covered, no finding"
    return
  fi
  echo "fuzz: $target: FAILED with exit code $code after ${executions:-?} executions:"
  tail -n 60 "$log"
  return 1
}

if $merge; then
  for target in "${targets[@]}"; do
    # shellcheck disable=SC2046
    "build/fuzz/bin/${target}_fuzzer" -merge=1 -max_len=4096 $(seeds "$target") "build/fuzz/corpus/$target"
  done
  exit
fi

# Two at a time, for the two cores of the smallest machine that builds this.
failed=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  running=()
  for target in "${targets[@]:i:2}"; do
    fuzz "$target" &
    running+=($!)
  done
  for pid in "${running[@]}"; do wait "$pid" || failed=1; done
done
if [ $failed -ne 0 ]; then
  find "$findings" -type f -size -16k | sort | while read -r file; do
    echo "fuzz: reproducer $file, in base64:"
    base64 "$file"
  done
fi
exit $failed
