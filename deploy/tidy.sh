#!/usr/bin/env bash
# Runs clang-tidy, with the checks and names of .clang-tidy, over all sources but the tests and generated code.
#
#   deploy/tidy.sh            # all, two at a time
#   deploy/tidy.sh FILE...    # some .cc files, each with the headers that it includes
#
# Prints what it finds; the exit code is then 1. Needs what `deploy/install_dependencies.sh test` installs, and no build.
#
# Nearly all of a file's time goes into the headers of the system, Abseil and protobuf. So a folder is checked as one source
# that includes its .cc files, in a quarter of the time. Where they do not compile as one, mostly because two of them give
# one name to different things, they are checked one by one; that also finds what another file of the folder hides, such as
# an unused using.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for argument in "$@"; do
  case "$argument" in
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
      exit 0
      ;;
    -*)
      echo "error: unknown argument \"$argument\"; usage: $0 [FILE...]" >&2
      exit 2
      ;;
  esac
done

cmake --preset dev --log-level=WARNING
cmake --build --preset dev --target ssd_generated

# Writes build/tidy/compile_commands.json, with the commands of all files and of the sources that stand for a folder, and
# prints what is to be checked, the longest first.
plan() {
  python3 - "$@" <<'EOF'
import collections
import json
import os
import shlex
import sys

FOLDERS = ("common", "models", "server", "worker", "deploy")
OUT = "build/tidy"

flags = {}  # of each source
for entry in json.load(open("build/dev/compile_commands.json")):
    source = os.path.relpath(entry["file"])
    if source.split("/")[0] in FOLDERS:
        words = shlex.split(entry["command"])
        flags[source] = words[:words.index("-o")]

# A folder's files go together with those whose flags include their own: targets differ in what they add.
groups = []  # of (folder, flags, sources)
for source in sorted(flags, key=lambda source: (-len(flags[source]), source)):
    folder = os.path.dirname(source)
    for other, superset, sources in groups:
        if other == folder and set(flags[source]) <= set(superset):
            sources.append(source)
            break
    else:
        groups.append((folder, flags[source], [source]))

numbers = collections.Counter()
whole = {}  # the source that stands for a group: the group's sources
for folder, words, sources in groups:
    numbers[folder] += 1
    unit = f"{OUT}/{folder}/all_{numbers[folder]}.cc"
    os.makedirs(os.path.dirname(unit), exist_ok=True)
    with open(unit, "w") as file:
        file.write("// NOLINTBEGIN(bugprone-suspicious-include): it is there to include sources\n")
        file.writelines(f'#include "{source}"\n' for source in sorted(sources))
        file.write("// NOLINTEND(bugprone-suspicious-include)\n")
    whole[unit] = sources
    flags[unit] = words

with open(f"{OUT}/compile_commands.json", "w") as file:
    json.dump([{"directory": os.getcwd(), "file": source, "arguments": words + ["-c", source]}
               for source, words in flags.items()], file, indent=1)

files = [os.path.relpath(os.path.realpath(name)) for name in sys.argv[1:]]
for file in files:
    if file not in flags:
        print(f"error: {file}: want a .cc file that the preset dev builds, which stands for its headers too", file=sys.stderr)
        sys.exit(2)
print(*(files or sorted(whole, key=lambda unit: -sum(map(os.path.getsize, whole[unit])))), sep="\n")
EOF
}

# check SOURCE: prints what clang-tidy finds in it, and fails if that is anything.
check() {
  local log=build/tidy/${1#build/tidy/}.log
  mkdir -p "$(dirname "$log")"
  if clang-tidy --quiet -p build/tidy "$1" >"$log" 2>"$log.errors"; then return; fi
  if [[ $1 == build/tidy/* ]] && grep -q '\[clang-diagnostic-error' "$log"; then
    echo "tidy: the sources of $1 do not compile as one and are checked one by one:" >&2
    grep -m 1 '\[clang-diagnostic-error' "$log" >&2
    local source failed=0
    # shellcheck disable=SC2013  # the files' names are ours
    for source in $(sed -n 's/^#include "\(.*\)"$/\1/p' "$1"); do check "$source" || failed=1; done
    return $failed
  fi
  cat "$log"
  # How many warnings there were in headers of others is no news.
  grep -vE '^[0-9]+ warnings? (generated|treated as errors?)' "$log.errors" || true
  return 1
}
export -f check

mkdir -p build/tidy
sources=$(plan "$@")
# Two at a time, for the two cores of the smallest machine that builds this.
# shellcheck disable=SC2016  # the inner shell has the argument
if ! xargs -P 2 -I {} bash -c 'check "$1"' check {} <<<"$sources"; then
  echo "tidy: the findings above are errors; see .clang-tidy" >&2
  exit 1
fi
echo "tidy: no finding"
