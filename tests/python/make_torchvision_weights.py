"""Writes a state_dict of a torchvision network with the `safetensors` package, as PyTorch's users have it.

    make_torchvision_weights.py FIXTURE.json OUT.safetensors

Names and shapes are those of the fixture, which PyTorch wrote. A parameter holds the numbers of deterministic.py for its
name, divided by 10; running means are 1000, running variances 1.
"""

import json
import sys

import numpy as np
from safetensors.numpy import save_file

from deterministic import deterministic


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        fixture = json.load(file)
    tensors = {}
    for tensor in fixture["parameters"]:
        values = deterministic(tensor["name"], int(np.prod(tensor["shape"], dtype=np.int64))) / 10
        tensors[tensor["name"]] = values.astype(np.float32).reshape(tensor["shape"])
    for buffer in fixture["buffers_after_forward"]:
        name = buffer["name"]
        if name.endswith("num_batches_tracked"):
            tensors[name] = np.array(123, np.int64)
        else:
            tensors[name] = np.full(buffer["shape"], 1000 if name.endswith("mean") else 1, np.float32)
    ordered = {name: tensors[name] for name in fixture["state_dict_names"]}
    save_file(ordered, sys.argv[2], metadata={"format": "pt"})


if __name__ == "__main__":
    main()
