"""The numbers of tests/testing/deterministic.h: counter-based, in [-1, 1), in float64."""

import numpy as np


def deterministic(name: str, count: int) -> np.ndarray:
    """Numbers 0 to `count` - 1 of the sequence called `name`."""
    value = 0xCBF29CE484222325  # 64-bit FNV-1a
    for byte in name.encode():
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    with np.errstate(over="ignore"):
        z = (np.arange(count, dtype=np.uint64) + np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(11)).astype(np.float64) / 2.0**52 - 1.0
