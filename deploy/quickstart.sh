#!/usr/bin/env bash
# From a fresh Debian 12 to a trained model: installs what is missing, builds the three binaries, and trains a small
# network on generated pictures with two servers and two workers on this machine.
#
#   deploy/quickstart.sh                               # all arguments go to ssd-run:
#   deploy/quickstart.sh --set training.duration=2ep
#
# The run's folder is made in ./runs. A second call builds nothing and works offline.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

"$root/deploy/install_dependencies.sh" run
(
  cd "$root"
  # A build folder that is there already keeps its choice of tests; only three targets are built in any case.
  tests=()
  [ -f build/release/CMakeCache.txt ] || tests=(-DSSD_TESTS=OFF)
  cmake --preset release "${tests[@]}" --log-level=WARNING
  cmake --build --preset release --target ssd-server ssd-worker ssd-run
)
exec "$root/build/release/bin/ssd-run" --quickstart "$@"
