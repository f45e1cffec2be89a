#!/usr/bin/env bash
# Downloads CIFAR-10 (Krizhevsky 2009, binary version, 162 MiB) and checks all of it.
#
#   fetch_cifar10.sh [DIRECTORY]       fetch into DIRECTORY (~/.local/share/ssd-sgd/cifar-10-batches-bin)
#   fetch_cifar10.sh --check DIRECTORY check what is there, download nothing
#
# DIRECTORY appears only when everything in it has been checked; a failure or an interruption leaves nothing behind.
# SSD_CIFAR10_URL names another source of the archive, a mirror or file:///path/to/cifar-10-binary.tar.gz; its
# compressed form may differ from the published one, its content may not.
#
# Exit codes: 0 done or already there; 1 the download failed; 2 usage; 3 the data is not CIFAR-10; 6 cannot write.
set -euo pipefail

readonly published_url=https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz
readonly archive_bytes=170052171
readonly archive_sha256=c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd
readonly url=${SSD_CIFAR10_URL:-$published_url}

fail() {  # CODE MESSAGE
  echo "fetch_cifar10.sh: $2" >&2
  exit "$1"
}

usage() { sed -n '2,11s/^# \{0,1\}//p' "$0"; }

# Sizes, labels and class counts of all six files, and the mean of each channel over the training images.
check_directory() {
  python3 - "$1" <<'PYTHON'
import os
import sys

RECORD = 3073
RECORDS = 10000
MEANS = (0.4914, 0.4822, 0.4465)
directory = sys.argv[1]
problems = []


def read(name):
    path = os.path.join(directory, name)
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return None
    if len(data) != RECORD * RECORDS:
        problems.append(f"{path}: has {len(data)} bytes, wanted {RECORD * RECORDS} ({RECORDS} records of {RECORD})")
        return None
    labels = data[::RECORD]
    if max(labels) > 9:
        record = next(i for i, label in enumerate(labels) if label > 9)
        problems.append(f"{path}: record {record} has label {labels[record]}, wanted 0 to 9")
        return None
    return data


def check_counts(split, files, per_class):
    counts = [sum(data[::RECORD].count(label) for data in files) for label in range(10)]
    if counts != [per_class] * 10:
        problems.append(f"{directory}: {split} images by class: {counts}, wanted {per_class} of each")


train = [read(f"data_batch_{i}.bin") for i in range(1, 6)]
test = read("test_batch.bin")
if not problems:
    check_counts("training", train, 5000)
    check_counts("test", [test], 1000)
    for channel, name in enumerate(("red", "green", "blue")):
        begin = 1 + 1024 * channel
        total = sum(sum(data[r + begin : r + begin + 1024]) for data in train for r in range(0, len(data), RECORD))
        mean = total / (5 * RECORDS * 1024 * 255)
        if abs(mean - MEANS[channel]) > 1e-4:
            problems.append(f"{directory}: mean of {name} over the training images is {mean:.5f}, wanted {MEANS[channel]}")
for problem in problems:
    print(f"fetch_cifar10.sh: {problem}", file=sys.stderr)
sys.exit(3 if problems else 0)
PYTHON
}

say_where() { printf '%s\nTo train on it:\n  export SSD_DATA_DIR=%q\n' "$1" "$2"; }

download() {  # FILE
  case $url in
    file://*) cp -- "${url#file://}" "$1" ;;
    *)
      if command -v curl >/dev/null; then
        curl --fail --location --retry 3 --connect-timeout 20 --output "$1" "$url"
      elif command -v wget >/dev/null; then
        wget --tries=3 --timeout=20 --output-document="$1" "$url"
      else
        fail 1 "neither curl nor wget is installed"
      fi
      ;;
  esac
}

command -v python3 >/dev/null || fail 1 "python3 is not installed; the checks need it"

case ${1-} in
  -h | --help)
    usage
    exit 0
    ;;
  --check)
    [[ $# -eq 2 ]] || fail 2 "--check takes one directory; see --help"
    [[ -d $2 ]] || fail 3 "$2: no such directory"
    check_directory "$2" || exit $?
    target=$(cd -- "$2" && pwd)
    say_where "CIFAR-10 in $target is complete: 50,000 training and 10,000 test images." "$target"
    exit 0
    ;;
  -*) fail 2 "unknown option $1; see --help" ;;
esac
[[ $# -le 1 ]] || fail 2 "takes one directory, got $#; see --help"

target=${1:-${XDG_DATA_HOME:-${HOME:?}/.local/share}/ssd-sgd/cifar-10-batches-bin}
parent=$(dirname -- "$target")
mkdir -p -- "$parent" || fail 6 "cannot create $parent"
target=$(cd -- "$parent" && pwd)/$(basename -- "$target")

if [[ -e $target ]] && ! rmdir -- "$target" 2>/dev/null; then  # an empty directory is in nobody's way
  if [[ -d $target ]] && check_directory "$target"; then
    say_where "CIFAR-10 is already there, complete; nothing to do." "$target"
    exit 0
  fi
  fail 3 "$target is there and is not CIFAR-10; it is left as it is. Remove it or name another directory."
fi

aside=$(mktemp -d -- "$target.XXXXXX") || fail 6 "cannot write to $(dirname -- "$target")"
trap 'rm -rf -- "$aside"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

echo "Fetching $url"
download "$aside/archive" || fail 1 "cannot download $url. Is this machine online? Elsewhere, fetch $published_url, bring \
it here, and run: SSD_CIFAR10_URL=file:///path/to/cifar-10-binary.tar.gz $0 $target. Without any download there is \
data.dataset: shapes, which is generated."
if [[ $url == "$published_url" ]]; then
  bytes=$(wc -c <"$aside/archive")
  [[ $bytes -eq $archive_bytes ]] || fail 3 "the archive has $bytes bytes, wanted $archive_bytes"
  sum=$(sha256sum "$aside/archive")
  [[ ${sum%% *} == "$archive_sha256" ]] || fail 3 "the archive's SHA-256 is ${sum%% *}, wanted $archive_sha256"
fi

mkdir "$aside/content"
tar -xf "$aside/archive" -C "$aside/content" --no-same-owner || fail 3 "$url is not a tar archive, or a damaged one"
content=$aside/content/cifar-10-batches-bin
[[ -d $content ]] || fail 3 "the archive from $url has no folder cifar-10-batches-bin"
check_directory "$content" || fail 3 "the archive from $url is not CIFAR-10; nothing is kept"
chmod -R u+w,a+rX -- "$content"
mv -T -- "$content" "$target" || fail 6 "cannot create $target"
say_where "CIFAR-10 is in $target: 50,000 training and 10,000 test images, all checked." "$target"
