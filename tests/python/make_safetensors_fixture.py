"""Writes tests/fixtures/python.safetensors with the `safetensors` package: what a reader has to take from others.

One tensor of each type, a scalar, a counter of shape [1], a tensor without values, and text beyond ASCII. Takes the
path to write. Tensor "x" of type T holds the bytes 1, 2, 3, ...
"""

import sys

import numpy as np
from safetensors import TensorSpec, serialize_file

SIZES = {
    "float64": 8,
    "float32": 4,
    "float16": 2,
    "bfloat16": 2,
    "int64": 8,
    "int32": 4,
    "int16": 2,
    "int8": 1,
    "uint8": 1,
    "bool": 1,
}


def main() -> None:
    shapes = {dtype: (dtype, [3, 1]) for dtype in SIZES}
    shapes |= {"scalar": ("int64", []), "counter": ("int64", [1]), "empty": ("float32", [0]), "größe/重み": ("float32", [2])}
    arrays = {}
    for name, (dtype, shape) in shapes.items():
        size = SIZES[dtype] * int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.ones(size, np.uint8) if dtype == "bool" else np.arange(1, size + 1, dtype=np.uint8)
    specs = {
        name: TensorSpec(dtype=dtype, shape=shape, data_ptr=arrays[name].ctypes.data, data_len=arrays[name].nbytes)
        for name, (dtype, shape) in shapes.items()
    }
    serialize_file(specs, sys.argv[1], metadata={"made by": "safetensors in Python", "größe": "\t\"重み\""})


if __name__ == "__main__":
    main()
