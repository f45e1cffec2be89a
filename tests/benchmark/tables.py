"""How run.py tells what it measured: a table's rows, and the bars that its figures have to reach."""

import statistics

SEEN_SGEMM = 140  # GFLOP/s of the machine whose ResNet-20 primitives made SEEN_PRIMITIVES, with oneDNN 2.6.3
SEEN_PRIMITIVES = 479  # samples/s
LEAST_SGEMM = 100  # below it the machine is another one, and the bars say nothing


class Report:
    """The medians of the rounds, and the bars checked so far. `rounds`: of each the counters of each row."""

    def __init__(self, rounds):
        self.rounds = rounds
        self.bars = []
        self.sgemm = self._sgemm()

    def __contains__(self, row):
        return all(row in found for found in self.rounds)

    def _sgemm(self):
        names = [name for name in self.rounds[0] if name.startswith("Sgemm/")]
        return self.median(names[0], "GFLOP/s") if names else None

    def median(self, row, counter="samples/s"):
        return statistics.median(found[row][counter] for found in self.rounds)

    def ratio(self, row, base, counter="samples/s"):
        return statistics.median(found[row][counter] / found[base][counter] for found in self.rounds)

    def bar(self, text, value, wanted):
        self.bars.append((text, value, wanted))

    def print_bars(self, avx2):
        """False where one is missed and counts."""
        if not self.bars:
            return True
        counts = avx2 and self.sgemm >= LEAST_SGEMM
        print(f"\nBars (sgemm {self.sgemm:.0f} GFLOP/s{', AVX2' if avx2 else ''}"
              f"{'' if counts else ': this machine is not what they are for, and they do not count'}):\n")
        for text, value, wanted in self.bars:
            print(f"- {'reached' if value >= wanted else 'MISSED'}: {text}: {value:.2f}, wanted {wanted:.2f}")
        return not counts or all(value >= wanted for _, value, wanted in self.bars)


def table(*rows):
    """Prints a Markdown table; the first row is its head."""
    for index, cells in enumerate(rows):
        print("| " + " | ".join(cells) + " |")
        if index == 0:
            print("| " + " | ".join(["---"] * len(cells)) + " |")


def named(report, names):
    """The rows that were measured: of their names and what they are called."""
    return [(row, text) for row, text in names.items() if row in report]


def _step(report, model):
    primitives = next(row for row in report.rounds[0] if row.startswith("Primitives/"))
    ours = next(row for row in report.rounds[0] if row.startswith("TrainingStep/"))
    names = {primitives: "the step's oneDNN primitives alone", ours: "ours", "pytorch_eager": "PyTorch, eager",
             "pytorch_compile": "PyTorch, torch.compile", "mxnet": "MXNet"}
    table([model, "samples/s", "ours / this"],
          *([text, f"{report.median(row):.1f}", f"{report.ratio(ours, row):.2f}"]
            for row, text in named(report, names)))
    parts = ", ".join(f"{part.removesuffix('_ms').replace('_', ' ')} {report.median(primitives, part):.1f}"
                      for part in ("forward_ms", "backward_data_ms", "backward_weights_ms", "batch_norm_ms",
                                   "other_ms"))
    print(f"\nThe primitives' milliseconds: {parts}. sgemm: {report.sgemm:.0f} GFLOP/s.")
    report.bar("ours of the primitives", report.ratio(ours, primitives), 0.85)
    if "pytorch_eager" in report:
        report.bar("ours of PyTorch eager", report.ratio(ours, "pytorch_eager"), 1.3)
        report.bar("ours of torch.compile", report.ratio(ours, "pytorch_compile"), 1.0)
    return primitives


def step_resnet20(report):
    primitives = _step(report, "ResNet-20, batch 128")
    expected = SEEN_PRIMITIVES * report.sgemm / SEEN_SGEMM
    report.bar(f"the primitives of {SEEN_PRIMITIVES} samples/s * sgemm / {SEEN_SGEMM}",
               report.median(primitives) / expected, 0.9)


def step_resnet50(report):
    _step(report, "ResNet-50, batch 16")


def system(report):
    names = {"ssgd": "ours, ssgd", "ssd_sgd": "ours, ssd_sgd with k = 4", "bare": "two bare workers of ours",
             "pytorch_ddp": "PyTorch DistributedDataParallel, gloo", "mxnet_dist_sync": "MXNet dist_sync, 2 servers",
             "pytorch_bare": "two bare workers of PyTorch", "mxnet_bare": "two bare workers of MXNet"}
    rows = named(report, names)
    peers = [row for row in ("pytorch_ddp", "mxnet_dist_sync") if row in report]
    bases = {"bare": "of our bare workers"}
    if peers:
        best = max(peers, key=report.median)
        bases[best] = f"of {names[best]}"
    table(["ResNet-20, 2 workers of 1 thread, batch 32", "samples/s", *bases.values()],
          *([text, f"{report.median(row):.0f}", *(f"{report.ratio(row, base):.2f}" for base in bases)]
            for row, text in rows))
    report.bar("ssd_sgd of our two bare workers", report.ratio("ssd_sgd", "bare"), 0.95)
    if peers:
        report.bar("ssgd of the better of DDP and dist_sync", report.ratio("ssgd", best), 1.5)
        report.bar("ssd_sgd of the better of DDP and dist_sync", report.ratio("ssd_sgd", best), 1.7)


def updates(report):
    counter = "bytes_per_second"
    table(["model of 100 MB, one thread", "GB/s", "of memcpy"],
          *([row, f"{report.median(row, counter) / 1e9:.1f}", f"{report.ratio(row, 'Memcpy', counter):.2f}"]
            for row in report.rounds[0]))


def transport(report):
    counter, cpu = "bytes_per_second", "cpu_seconds_per_GB"
    rows = [["model of 100 MB, loopback", "GB/s", "of raw TCP", "CPU s/GB", "raw TCP's"]]
    for row in report.rounds[0]:
        raw = f"RawTcp/{row.split('/')[1]}"  # of as many workers
        rows.append([row, f"{report.median(row, counter) / 1e9:.2f}", f"{report.ratio(row, raw, counter):.2f}",
                     f"{report.median(row, cpu):.2f}", f"{report.ratio(row, raw, cpu):.1f} times"])
    table(*rows)
