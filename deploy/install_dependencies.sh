#!/usr/bin/env bash
# Installs what is needed to build ssd-sgd on Debian 12.
#
#   deploy/install_dependencies.sh run    # the compiler and the libraries
#   deploy/install_dependencies.sh test   # and what the tests, clang and the sanitizers need
#   deploy/install_dependencies.sh cuda   # cudnn-frontend from PyPI; the CUDA toolkit and cuDNN have to be there
#
# Needs root or sudo only where a package is missing; with all of them there it does nothing and needs no network.
set -euo pipefail

run_packages=(
  build-essential cmake ninja-build lld pkg-config
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler libabsl-dev
  libdnnl-dev ocl-icd-opencl-dev libyaml-cpp-dev nlohmann-json3-dev)
test_packages=(
  clang clang-tidy libclang-rt-14-dev llvm libgtest-dev libgmock-dev libeigen3-dev libbenchmark-dev ccache python3 python3-venv)

# fetch_cudnn_frontend: headers that NVIDIA publishes on PyPI alone, into build/cudnn_frontend.
fetch_cudnn_frontend() {
  local version=1.32.0 folder=build/cudnn_frontend
  cd "$(dirname "${BASH_SOURCE[0]}")/.."
  [ "$(cat "$folder/version" 2>/dev/null || true)" != "$version" ] || return 0
  rm -rf "$folder" "$folder.new"
  mkdir -p "$folder.new"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder.new" \
    "nvidia-cudnn-frontend==$version"
  python3 -m zipfile -e "$folder.new"/*.whl "$folder.new/wheel"
  mv "$folder.new/wheel/include" "$folder.new/include"
  rm -r "$folder.new/wheel" "$folder.new"/*.whl
  echo "$version" >"$folder.new/version"
  mv "$folder.new" "$folder"
}

case "${1:-}" in
  cuda)
    fetch_cudnn_frontend
    exit
    ;;
  run) packages=("${run_packages[@]}") ;;
  test) packages=("${run_packages[@]}" "${test_packages[@]}") ;;
  *)
    echo "usage: $0 run|test|cuda" >&2
    exit 2
    ;;
esac

# A subshell, so that the file's variables stay there.
os=$(. /etc/os-release 2>/dev/null && echo "${ID:-unknown} ${VERSION_ID:-}" || echo "an unknown system")
if [ "$os" != "debian 12" ]; then
  os_name=$(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-$os}" || echo "$os")
  {
    echo "error: this is $os_name; these scripts set up Debian 12 (bookworm) only."
    echo "Elsewhere, install what these Debian 12 packages hold and build with: cmake --preset release"
    printf '  %s\n' "${packages[@]}"
  } >&2
  exit 2
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "error: neither root nor sudo; as root, run: apt-get install ${missing[*]}" >&2
    exit 2
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
