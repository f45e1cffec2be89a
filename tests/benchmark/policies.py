#!/usr/bin/env python3
"""Compares the policies on CIFAR-10: ResNet-20, 4 workers of batch 32, one budget. docs/benchmarks.md holds the results.

    export SSD_DATA_DIR=/folder/of/cifar-10-batches-bin
    tests/benchmark/policies.py accuracy                # test accuracy after each epoch; over two hours on two cores
    tests/benchmark/policies.py step_time               # wall time a step: 300 steps each, interleaved; an idle machine
    tests/benchmark/policies.py losses                  # the losses of the first 200 steps, to compare two builds
    tests/benchmark/policies.py accuracy --read RUNS    # the table of runs that are there

Needs Python 3 alone.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXPERIMENTS = pathlib.Path("deploy", "experiments")  # from ROOT, so that a run's folder names no other
SSD = "cifar10_resnet20_ssd.yaml"
# What each policy is: the experiment, and what differs from it.
POLICIES = {
    "ssgd": ("cifar10_resnet20_ssgd.yaml", []),
    "ssd_glu": (SSD, []),
    "ssd_momentum": (SSD, ["sync.local.update=momentum"]),
    "ssd_sgd": (SSD, ["sync.local.update=sgd"]),
    "ssd_glu_velocity": (SSD, ["sync.local.update=glu_velocity"]),
    "ssd_glu_alpha_2": (SSD, ["sync.local.alpha=2"]),  # the authors'
    "ssd_glu_every_period": ("cifar10_resnet20_ssd_every_period.yaml", []),
}


def train(options, name, sets):
    """Runs one policy and returns the run's folder."""
    file, own = POLICIES[name]
    command = [str(options.bin / "ssd-run"), str(EXPERIMENTS / file)]
    for change in [f"name={name}", f"output.directory={options.out}", *own, *sets]:
        command += ["--set", change]
    print("+", " ".join(command), flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return sorted((ROOT / options.out / name).iterdir())[-1]


def metrics(folder, split):
    with open(folder / "metrics.jsonl") as file:
        return [line for line in map(json.loads, file) if line["split"] == split]


def row(cells):
    print("| " + " | ".join(cells) + " |")


def accuracy(options):
    folders = {name: options.read / name / "001" if options.read
               else train(options, name, [f"training.duration={options.epochs}ep", f"output.report_every={options.report}"])
               for name in options.policies}
    row(["policy", *(f"{epoch}" for epoch in range(1, options.epochs + 1))])
    row(["---"] * (options.epochs + 1))
    for name, folder in folders.items():
        row([name, *(f"{line['accuracy']:.4f}" for line in metrics(folder, "test"))])


def step_time(options):
    """Interleaved, so that what else the machine does hits all alike; the first fifth of each run is warm-up."""
    seconds = {name: [] for name in options.policies}
    waits = {name: [] for name in options.policies}
    for _ in range(options.rounds):
        for name in options.policies:
            folder = train(options, name, ["training.duration=300it", "output.report_every=20it", "evaluation.every=0it",
                                           *([] if name == "ssgd" else ["sync.warmup=20it"])])
            lines = metrics(folder, "train")[3:]
            seconds[name].append(statistics.median(128 / line["samples_per_second"] for line in lines))
            waits[name].append(statistics.median(line["wait_fraction"] for line in lines))
    base = statistics.median(seconds[options.policies[0]])
    row(["policy", "step (median), ms", f"of {options.policies[0]}'s", "waiting"])
    row(["---"] * 4)
    for name in options.policies:
        step = statistics.median(seconds[name])
        row([name, f"{1000 * step:.0f}", f"{step / base:.3f}", f"{100 * statistics.median(waits[name]):.1f} %"])


def losses(options):
    for name in options.policies:
        # The schedules depend on the run's length, so the run is that of `accuracy`, stopped after 200 steps' reports.
        file, own = POLICIES[name]
        command = [str(options.bin / "ssd-run"), str(EXPERIMENTS / file)]
        for change in [f"name={name}_losses", f"output.directory={options.out}", *own,
                       f"training.duration={options.epochs}ep", f"output.report_every={options.report}"]:
            command += ["--set", change]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=ROOT)
        for line in process.stderr:
            if line.startswith("step 200/"):
                process.terminate()
        process.wait()
        folder = sorted((ROOT / options.out / f"{name}_losses").iterdir())[-1]
        found = [(line["step"], line["loss"]) for line in metrics(folder, "train") if line["step"] <= 200]
        if options.read:
            wanted = [(line["step"], line["loss"]) for line in metrics(options.read / name / "001", "train")
                      if line["step"] <= 200]
            worst = max(abs(a - b) / abs(b) for (_, a), (_, b) in zip(found, wanted, strict=True))
            print(f"{name}: {len(found)} losses of the first 200 steps, largest relative difference {worst:.1e}")
        else:
            print(name, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["accuracy", "step_time", "losses"])
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build", "release", "bin"),
                        help="where the programs are; this and --out from the project's root")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("runs", "policies"))
    parser.add_argument("--read", type=pathlib.Path, help="folder of runs that are there, in place of training")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--report", default="25it", help="how often the loss is written, for accuracy and losses")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--policies", nargs="+", choices=list(POLICIES), default=list(POLICIES))
    options = parser.parse_args()
    {"accuracy": accuracy, "step_time": step_time, "losses": losses}[options.what](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
