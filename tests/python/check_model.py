"""Checks a model file with the `safetensors` package, and writes the same tensors back with it.

    check_model.py MODEL.safetensors EXPECTED.json REWRITTEN.safetensors

EXPECTED.json: {"metadata": {..}, "tensors": [{"name", "dtype", "shape", and either "sequence" or "values"}, ..]}, the
tensors in the order of PyTorch's state_dict. A "sequence" names the numbers of deterministic.py, which fill the tensor
in PyTorch's order of axes. Names, order, dtypes, shapes, metadata and every value have to be equal; exits 1 and says
what is not.
"""

import json
import struct
import sys

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from deterministic import deterministic

DTYPES = {"F32": np.float32, "I64": np.int64}
SIZES = {"F32": 4, "I64": 8}


def raw_header(path: str) -> tuple[int, dict]:
    """Where the values begin, and the header in the order of the file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return 8 + length, json.loads(file.read(length))


def expected_values(tensor: dict) -> np.ndarray:
    dtype = DTYPES[tensor["dtype"]]
    if "values" in tensor:
        return np.array(tensor["values"], dtype=dtype).reshape(tensor["shape"])
    count = int(np.prod(tensor["shape"], dtype=np.int64))
    return deterministic(tensor["sequence"], count).astype(dtype).reshape(tensor["shape"])


def faults_of(path: str, expected: dict) -> list[str]:
    faults = []
    tensors = {tensor["name"]: tensor for tensor in expected["tensors"]}
    with safe_open(path, framework="numpy") as file:
        if file.metadata() != expected["metadata"]:
            faults.append(f"metadata is {file.metadata()}, want {expected['metadata']}")
        if set(file.keys()) != set(tensors):
            faults.append(f"names that are not on both sides: {sorted(set(file.keys()) ^ set(tensors))}")

    start, header = raw_header(path)
    names = [name for name in header if name != "__metadata__"]
    if names != [tensor["name"] for tensor in expected["tensors"]]:
        faults.append(f"the order is {names}, not a state_dict's")
    for name in names:
        dtype, begin = header[name]["dtype"], header[name]["data_offsets"][0]
        if (start + begin) % SIZES[dtype] != 0:
            faults.append(f"{name}: {dtype} at byte {start + begin} is not aligned")

    for name, seen in load_file(path).items():
        if name not in tensors:
            continue
        want = expected_values(tensors[name])
        if seen.dtype != want.dtype or seen.shape != want.shape:
            faults.append(f"{name}: {seen.dtype}{list(seen.shape)}, want {want.dtype}{list(want.shape)}")
        elif seen.tobytes() != want.tobytes():
            at = np.argwhere(seen != want)
            faults.append(f"{name}: {len(at)} of {seen.size} values differ, the first at {at[0].tolist()}")
    return faults


def main() -> int:
    model, expected_path, rewritten = sys.argv[1:]
    with open(expected_path, encoding="utf-8") as file:
        expected = json.load(file)
    faults = faults_of(model, expected)
    for fault in faults:
        print(f"{model}: {fault}", file=sys.stderr)
    if faults:
        return 1
    values = {tensor["name"]: expected_values(tensor) for tensor in expected["tensors"]}
    save_file(values, rewritten, metadata={"format": "pt"})
    return 0


if __name__ == "__main__":
    sys.exit(main())
