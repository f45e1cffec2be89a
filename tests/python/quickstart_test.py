"""The main job as a newcomer runs it, through the real binaries: one training serves all that is checked here.

    quickstart_test.py BIN_DIRECTORY

Trains the embedded experiment (SSD-SGD, 2 servers, 2 workers, a small ResNet on generated pictures) and checks what the
README promises: the accuracy, the last lines, the run's folder, and a model that loads with strict names and shapes.
Needs the packages of tests/requirements.txt.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from safetensors.numpy import load_file

BIN = sys.argv.pop(1)
PROMISED_ACCURACY = 0.90


def resnet8_shapes():
    """The state_dict of a ResNet-8 with torchvision's names, in PyTorch's order: name -> shape."""
    shapes = {}

    def batch_norm(name, channels):
        for part in ("weight", "bias", "running_mean", "running_var"):
            shapes[f"{name}.{part}"] = (channels,)
        shapes[f"{name}.num_batches_tracked"] = ()

    shapes["conv1.weight"] = (16, 3, 3, 3)
    batch_norm("bn1", 16)
    inputs = 16
    for stage, outputs in enumerate((16, 32, 64), start=1):
        shapes[f"layer{stage}.0.conv1.weight"] = (outputs, inputs, 3, 3)
        batch_norm(f"layer{stage}.0.bn1", outputs)
        shapes[f"layer{stage}.0.conv2.weight"] = (outputs, outputs, 3, 3)
        batch_norm(f"layer{stage}.0.bn2", outputs)
        inputs = outputs
    shapes["fc.weight"] = (10, 64)
    shapes["fc.bias"] = (10,)
    return shapes


class Quickstart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.output = os.path.join(cls.folder.name, "runs")
        cls.run_ = subprocess.run(
            [f"{BIN}/ssd-run", "--quickstart", "--set", f"output.directory={cls.output}"],
            capture_output=True, text=True)
        print(cls.run_.stderr[-4000:], cls.run_.stdout, sep="\n")
        cls.directory = os.path.join(cls.output, "quickstart", "001")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def summary(self):
        with open(os.path.join(self.directory, "summary.json")) as file:
            return json.load(file)

    def test_ends_well_and_reaches_what_the_readme_states(self):
        self.assertEqual(self.run_.returncode, 0, self.run_.stderr)
        self.assertGreaterEqual(self.summary()["accuracy"], PROMISED_ACCURACY)

    def test_the_last_lines_say_accuracy_model_folder_and_what_to_try_next(self):
        lines = self.run_.stdout.strip().splitlines()[-4:]
        self.assertRegex(lines[0], r"accuracy \d\d\.\d\d%")
        self.assertIn(os.path.join(self.directory, "model.safetensors"), lines[1])
        self.assertIn(self.directory, lines[2])
        self.assertRegex(lines[3], r"next +\S*ssd-run")

    def test_the_folder_holds_all_that_a_run_leaves(self):
        expected = {"config.resolved.yaml", "metrics.jsonl", "model.safetensors", "summary.json", "server-0.log",
                    "server-1.log", "tensorboard", "worker-0.log", "worker-1.log"}
        self.assertEqual(set(os.listdir(self.directory)), expected)
        with open(os.path.join(self.directory, "metrics.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        tests = [line for line in lines if line["split"] == "test"]
        self.assertEqual(tests[-1]["total"], 4000)
        self.assertEqual(tests[-1]["accuracy"], self.summary()["accuracy"])
        self.assertEqual(tests[-1]["step"], lines[0]["steps"])

    def test_the_model_has_pytorchs_names_shapes_and_sane_values(self):
        tensors = load_file(os.path.join(self.directory, "model.safetensors"))
        self.assertEqual({name: value.shape for name, value in tensors.items()}, resnet8_shapes())
        with open(os.path.join(self.directory, "metrics.jsonl")) as file:
            steps = json.loads(file.readline())["steps"]
        for name, value in tensors.items():
            self.assertTrue(np.isfinite(value).all(), name)
            if name.endswith("num_batches_tracked"):
                self.assertEqual((value.dtype, int(value)), (np.int64, steps))
            else:
                self.assertEqual(value.dtype, np.float32, name)
            if name.endswith("running_var"):
                self.assertTrue((value > 0).all(), name)

    def test_evaluating_the_file_gives_the_same_accuracy_again(self):
        result = subprocess.run([f"{BIN}/ssd-run", "--evaluate", os.path.join(self.directory, "model.safetensors")],
                                capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        correct, total = map(int, re.search(r"\((\d+) of (\d+)\)", result.stdout).groups())
        summary = self.summary()
        self.assertEqual((correct, total), (summary["correct"], summary["total"]))


if __name__ == "__main__":
    unittest.main()
