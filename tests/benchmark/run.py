#!/usr/bin/env python3
"""Measures ours beside what else there is, in turn on one machine, and prints a Markdown table of medians.

    tests/benchmark/peers/setup.sh          # once: PyTorch and MXNet
    tests/benchmark/run.py step_resnet20    # the training step, 5 minutes
    tests/benchmark/run.py step_resnet50    # 9 minutes
    tests/benchmark/run.py system           # two workers and two servers, 9 minutes
    tests/benchmark/run.py updates          # the optimizer and the local updates, 2 minutes
    tests/benchmark/run.py transport        # push and pull, 1 minute

The machine should do nothing else. Every contender gets a round in turn, as often as the table has rounds; speeds are
medians over rounds, and ratios are medians of the ratios within a round. Each round is stored in build/benchmark, and what
is there is not measured again: a broken run is gone on with by the same command, --fresh begins anew.

Exits with 1 where a bar is missed. Bars count where the processor has AVX2 and oneDNN's sgemm makes 100 GFLOP/s on all
cores. Needs Python 3 alone.
"""

import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import socket
import subprocess
import sys

import contenders
import tables


def machine(options):
    """What the figures depend on, beside the contenders' versions."""
    with open("/proc/cpuinfo") as file:
        lines = file.read().splitlines()
    facts = {key: next((line.split(":", 1)[1].strip() for line in lines if line.startswith(key)), "unknown")
             for key in ("model name", "flags")}
    commit = subprocess.run(["git", "-C", contenders.ROOT, "rev-parse", "--short", "HEAD"], capture_output=True,
                            text=True, check=False).stdout.strip()
    ours = subprocess.run([options.bin / "ssd-run", "--version"], capture_output=True, text=True, check=True)
    return {"cpu": facts["model name"], "cores": len(os.sched_getaffinity(0)), "avx2": "avx2" in facts["flags"].split(),
            "system": platform.platform(), "commit": commit or "unknown",
            "ours": ", ".join(line.strip() for line in ours.stdout.splitlines())}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def google(options, binary, filter, seconds):
    return contenders.GoogleBenchmark(options.bin / binary, filter, 0.001 if options.smoke else seconds, options.cores)


def sgemm(options):
    return google(options, "model_benchmark", f"^Sgemm/cores:{options.cores}/", 0.5)


def step(options, model, batch, steps, seconds):
    """Yields functions, each of which starts a contender."""
    steps = 1 if options.smoke else steps
    yield lambda: sgemm(options)
    for name in ("Primitives", "TrainingStep"):
        yield lambda name=name: google(options, "model_benchmark",
                                       f"^{name}/{model}/batch:{batch}/cores:{options.cores}/", seconds)
    if options.ours:
        return
    for mode in ("eager", "compile"):
        yield lambda mode=mode: contenders.pytorch_step(options.out, model, batch, options.cores, mode, steps)
    if model == "resnet20":
        yield lambda: contenders.mxnet_step(options.out, batch, options.cores, steps)


def system(options):
    steps, peers_steps = (20, 2) if options.smoke else (120, 60)
    group = {"workers": 2, "batch": 32, "steps": peers_steps}
    warmup_reports = 0 if options.smoke else 3
    yield lambda: sgemm(options)
    for name, sets in (("ssgd", ["sync.policy=ssgd"]),
                       ("ssd_sgd", ["sync.policy=ssd_sgd", "sync.k=4", "sync.warmup=10it"])):
        yield lambda name=name, sets=sets: contenders.SsdRun(options.out, options.bin, name, sets, steps,
                                                             warmup_reports)
    yield lambda: contenders.bare(options.out, options.bin, **group)
    if options.ours:
        return
    yield lambda: contenders.pytorch_ddp(options.out, port=free_port(), **group)
    yield lambda: contenders.mxnet_dist_sync(options.out, servers=2, port=free_port(), **group)
    yield lambda: contenders.pytorch_bare(options.out, **group)
    yield lambda: contenders.mxnet_bare(options.out, **group)


# What a table is measured with, how often, and how it is told.
TABLES = {
    "step_resnet20": (lambda options: step(options, "resnet20", 128, 8, 2), 7, tables.step_resnet20),
    "step_resnet50": (lambda options: step(options, "resnet50", 16, 2, 4), 5, tables.step_resnet50),
    "system": (system, 5, tables.system),
    "updates": (lambda options: [lambda: google(options, "update_benchmark", ".", 0.3)], 9, tables.updates),
    "transport": (lambda options: [lambda: google(options, "grpc_transport_benchmark", ".", 0.5)], 7, tables.transport),
}


def measure(options, starters, rounds, path):
    """Measures the rounds that are missing in the file, and returns all that it then holds."""
    saved = {"machine": machine(options), "versions": [], "rounds": []}
    if path.exists() and not options.fresh:
        found = json.loads(path.read_text())
        if len(found["rounds"]) < rounds and found["machine"] != saved["machine"]:
            raise contenders.Failure(f"{path} was begun with {found['machine']}, this is {saved['machine']}: "
                                     "use --fresh")
        saved = found
    if len(saved["rounds"]) >= rounds:
        print(f"{path} is complete; --fresh measures again", file=sys.stderr)
        return saved
    started = []
    try:
        for start in starters:
            started.append(start())
        saved["versions"] = sorted({contender.versions for contender in started if contender.versions})
        while len(saved["rounds"]) < rounds:
            first = len(saved["rounds"]) % len(started)  # nobody always comes after the same one
            results = {}
            for contender in started[first:] + started[:first]:
                results.update(contender.round())
            saved["rounds"].append(results)
            path.with_suffix(".new").write_text(json.dumps(saved, indent=1))
            path.with_suffix(".new").replace(path)
            print(f"{datetime.datetime.now():%H:%M:%S} round {len(saved['rounds'])} of {rounds}", file=sys.stderr)
    finally:
        for contender in started:
            contender.stop()
    return saved


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=list(TABLES))
    parser.add_argument("--bin", type=pathlib.Path, default=contenders.ROOT / "build" / "release" / "bin")
    parser.add_argument("--out", type=pathlib.Path, default=contenders.ROOT / "build" / "benchmark")
    parser.add_argument("--fresh", action="store_true", help="forget the rounds that are there")
    parser.add_argument("--ours", action="store_true", help="without PyTorch and MXNet")
    parser.add_argument("--smoke", action="store_true",
                        help="one short round, to see that everything runs; checks no bars and stores nothing")
    options = parser.parse_args()
    options.cores = len(os.sched_getaffinity(0))
    starters, rounds, tell = TABLES[options.table]
    options.out = options.out.resolve() / (options.table + ("_smoke" if options.smoke else ""))
    if options.smoke:
        options.fresh, rounds = True, 1
    if options.fresh:
        shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        saved = measure(options, starters(options), rounds, options.out / "rounds.json")
    except (contenders.Failure, OSError, subprocess.SubprocessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    report = tables.Report(saved["rounds"])
    tell(report)
    facts = saved["machine"]
    print(f"\n{facts['cpu']}, {facts['cores']} cores, {facts['system']}; {facts['ours']}; commit {facts['commit']}; "
          + "; ".join(saved["versions"] + [f"medians of {len(saved['rounds'])} rounds"]))
    if options.smoke:
        return 0
    return 0 if report.print_bars(facts["avx2"]) else 1


if __name__ == "__main__":
    sys.exit(main())
