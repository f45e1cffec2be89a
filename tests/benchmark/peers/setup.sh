#!/usr/bin/env bash
# Sets up the systems that run.py compares with, each in a virtual environment of its own in build/peers, from PyPI:
# PyTorch and MXNet. Needs Python 3.11 with its headers (torch.compile compiles), and some 4 GB.
#
#   tests/benchmark/peers/setup.sh
#
# What is there already is left alone; remove build/peers/torch or build/peers/mxnet to make it anew.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
peers=$PWD/build/peers
torch_version=2.15.0
cuda=${CUDA_HOME:-/usr/local/cuda}

# new_environment NAME: makes the environment afresh. It is complete when its file `python` is there.
new_environment() {
  rm -rf "${peers:?}/$1"
  python3 -m venv "$peers/$1"
}

# finish NAME [LIBRARY_FOLDER...]: writes build/peers/NAME/python, which runs the environment's Python.
finish() {
  local environment=$peers/$1
  shift
  local IFS=:
  local folders="$*"
  cat >"$environment/python.new" <<SCRIPT
#!/bin/sh
export PATH="$environment/bin:\$PATH" LD_LIBRARY_PATH="$folders\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
exec "$environment/bin/python" "\$@"
SCRIPT
  chmod +x "$environment/python.new"
  mv "$environment/python.new" "$environment/python"
}

if [ ! -x "$peers/mxnet/python" ]; then
  new_environment mxnet
  # The last numpy that still has the names which MXNet imports.
  "$peers/mxnet/bin/pip" install --quiet mxnet==1.9.1 numpy==1.23.5
  finish mxnet
fi

if [ ! -x "$peers/torch/python" ]; then
  new_environment torch
  pip=("$peers/torch/bin/pip" install --quiet)
  libraries=()
  "${pip[@]}" numpy 'setuptools>=77.0.3'
  if [ -e "$cuda/lib64/libcublas.so.13" ]; then
    # There is no build for the CPU alone on PyPI, and torch does not load without CUDA's libraries. Those of the machine
    # save most of the download; the others have the versions that torch asks for.
    "${pip[@]}" filelock typing-extensions sympy networkx jinja2 fsspec
    "${pip[@]}" --no-deps "torch==$torch_version" nvidia-cufile nvidia-cusparselt-cu13==0.8.1 \
      nvidia-nvshmem-cu13==3.7.2 nvidia-nccl-cu13==2.30.7 nvidia-cudnn-cu13==9.26.0.51
    for folder in "$peers"/torch/lib/python3*/site-packages/nvidia/*/lib; do libraries+=("$folder"); done
    libraries+=("$cuda/lib64")
    if [ -d "$cuda/extras/CUPTI/lib64" ]; then libraries+=("$cuda/extras/CUPTI/lib64"); fi
  else
    "${pip[@]}" "torch==$torch_version"
  fi
  finish torch ${libraries[@]+"${libraries[@]}"}
fi

"$peers/mxnet/python" -c 'import mxnet; print("MXNet", mxnet.__version__)'
"$peers/torch/python" -c 'import torch; print("PyTorch", torch.__version__)'
