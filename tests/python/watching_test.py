"""What a user watches a run with, read back as a user would: metrics.jsonl, TensorBoard's files, the report's page.

    watching_test.py BIN_DIRECTORY SOURCE_DIRECTORY

Two short runs through the real binaries serve all that is checked here. Needs the packages of tests/requirements.txt.
"""

import html.parser
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import numpy as np
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

BIN, SOURCE = sys.argv.pop(1), sys.argv.pop(1)
WORKERS, STEPS, EPOCH_STEPS = 2, 12, 4

# The event files' tags: split and path of the field whose number each one shows.
TAGS = {
    "train/loss": ("train", "loss"),
    "train/accuracy": ("train", "accuracy"),
    "train/lr": ("train", "lr"),
    "train/epoch": ("train", "epoch"),
    "train/lead": ("train", "lead"),
    "throughput/samples_per_sec": ("train", "samples_per_second"),
    "throughput/bytes_pushed": ("train", "bytes_pushed"),
    "throughput/bytes_pulled": ("train", "bytes_pulled"),
    "time/wait_fraction": ("train", "wait_fraction"),
    "time/data": ("train", "time.data"),
    "time/compute": ("train", "time.compute"),
    "time/local_update": ("train", "time.local_update"),
    "time/push": ("train", "time.push"),
    "time/wait": ("train", "time.wait"),
    "eval/top1": ("test", "accuracy"),
    "eval/loss": ("test", "loss"),
}
# Of a worker alone nobody evaluates, and the rate and the lead are the servers' business.
WORKER_TAGS = {tag for tag in TAGS if not tag.startswith("eval/")} - {"train/lr", "train/lead"}


def flat(record, prefix=""):
    """{"time": {"wait": 1}} as {"time.wait": 1}."""
    fields = {}
    for name, value in record.items():
        fields.update(flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value})
    return fields


def events(folder):
    """The scalars of the one event file in `folder`: tag -> [(step, float32 value, wall time)]."""
    names = os.listdir(folder)
    assert len(names) == 1 and re.fullmatch(r"events\.out\.tfevents\.\d{10}\..+\.\d+\.0", names[0]), names
    loaded = list(EventFileLoader(os.path.join(folder, names[0])).Load())
    assert loaded[0].file_version == "brain.Event:2"
    scalars = {}
    for event in loaded[1:]:
        for value in event.summary.value:
            number = value.simple_value if value.HasField("simple_value") else value.tensor.float_val[0]
            scalars.setdefault(value.tag, []).append((event.step, np.float32(number), event.wall_time))
    return scalars


class Watching(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.runs = []
        for policy in ("ssgd", "ssd_sgd"):
            settings = {
                "name": policy, "sync.policy": policy, "output.directory": cls.folder.name, "model.name": "resnet8",
                "data.dataset": "shapes", "data.shapes_train": 128, "data.shapes_test": 64,
                "training.batch_size": 128 // EPOCH_STEPS // WORKERS, "training.duration": f"{STEPS}it",
                "cluster.workers": WORKERS, "cluster.servers": 2, "output.report_every": "3it"}
            if policy == "ssd_sgd":
                settings["sync.k"] = 2
            experiment = os.path.join(cls.folder.name, "empty.yaml")
            open(experiment, "w").close()
            command = [f"{BIN}/ssd-run", experiment]
            for name, value in settings.items():
                command += ["--set", f"{name}={value}"]
            result = subprocess.run(command, capture_output=True, text=True)
            assert result.returncode == 0, result.stderr + result.stdout
            cls.runs.append(os.path.join(cls.folder.name, policy, "001"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def metrics(self, run):
        with open(os.path.join(run, "metrics.jsonl")) as file:
            return [flat(json.loads(line)) for line in file]

    def report(self, *arguments):
        result = subprocess.run([f"{BIN}/ssd-run", "--report", *arguments], capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(result.stdout.split()[-1], encoding="utf-8") as file:
            return file.read()

    def test_the_servers_events_are_the_numbers_of_metrics_jsonl(self):
        for run in self.runs:
            scalars = events(os.path.join(run, "tensorboard", "server-0"))
            records = self.metrics(run)
            known = {tag for tag, (split, field) in TAGS.items()
                     if any(r["split"] == split and field in r for r in records)}
            self.assertEqual(set(scalars), known)
            for tag in known:
                split, field = TAGS[tag]
                wanted = [(r["step"], np.float32(r[field])) for r in records if r["split"] == split]
                self.assertEqual([(step, value) for step, value, _ in scalars[tag]], wanted, tag)

    def test_each_worker_has_a_folder_and_their_mean_is_the_servers_loss(self):
        for run in self.runs:
            self.assertEqual(set(os.listdir(os.path.join(run, "tensorboard"))), {"server-0", "worker-0", "worker-1"})
            workers = [events(os.path.join(run, "tensorboard", f"worker-{i}")) for i in range(WORKERS)]
            for worker in workers:
                self.assertEqual(set(worker), WORKER_TAGS & set(TAGS))
            train = [r for r in self.metrics(run) if r["split"] == "train"]
            for i, record in enumerate(train):
                self.assertEqual({worker["train/loss"][i][0] for worker in workers}, {record["step"]})
                mean = sum(float(worker["train/loss"][i][1]) for worker in workers) / WORKERS
                self.assertAlmostEqual(mean, record["loss"], delta=1e-5 * abs(record["loss"]))

    def test_without_the_option_there_are_no_events(self):
        experiment = os.path.join(self.runs[0], "config.resolved.yaml")
        subprocess.run([f"{BIN}/ssd-run", experiment, "--set", "output.tensorboard=false", "--set", "name=quiet",
                        "--set", "training.duration=2it", "--set", f"output.directory={self.folder.name}"],
                       capture_output=True, check=True)
        self.assertNotIn("tensorboard", os.listdir(os.path.join(self.folder.name, "quiet", "001")))

    def test_every_field_of_metrics_jsonl_is_documented_and_no_other(self):
        written = {}
        for run in self.runs:
            for record in self.metrics(run):
                for field in record:
                    written.setdefault(field, set()).add(record["split"])
        documented = {}
        with open(os.path.join(SOURCE, "docs/run_folder.md"), encoding="utf-8") as file:
            text = file.read().split("## metrics.jsonl")[1].split("\n## ")[0]
        for line in text.splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| `"):
                documented[cells[0].strip("`")] = set(cells[1].split(", "))
        self.assertEqual(documented, written)

    def test_the_page_is_well_formed_and_needs_no_network(self):
        page = self.report(*self.runs, "--output", os.path.join(self.folder.name, "page.html"))
        ElementTree.fromstring(page)
        self.assertNotRegex(page, r"https?:|<script|<link|@import|url\((?!#)|src=")
        anchors = set(re.findall(r'href="#(\w+)"|url\(#(\w+)\)', page))
        ids = set(re.findall(r' id="(\w+)"', page))
        self.assertLessEqual({a or b for a, b in anchors}, ids)
        opened = []

        class Balance(html.parser.HTMLParser):
            def handle_starttag(self, tag, attributes):
                opened.append(tag)

            def handle_endtag(self, tag):
                assert opened.pop() == tag

        Balance().feed(page)
        self.assertEqual(opened, [])

    def test_the_drawn_points_are_those_of_metrics_jsonl(self):
        page = self.report(*self.runs, "--output", os.path.join(self.folder.name, "page.html"))
        charts = {chart.find("figcaption").text: chart.find("svg")
                  for chart in ElementTree.fromstring(page).iter("figure") if chart.get("class") == "chart"}
        seconds = 1 if max(r.get("elapsed", 0) for run in self.runs for r in self.metrics(run)) < 120 else 60
        against = {"epochs": lambda r: r["epoch"], "wall time": lambda r: r["elapsed"] / seconds}
        for title, split, y in (("Test accuracy (%)", "test", lambda r: 100 * r["accuracy"]),
                                ("Training loss", "train", lambda r: r["loss"])):
            self.assertIn(f"{title} against bytes moved", charts)
            for name, x in against.items():
                svg = charts[f"{title} against {name}"]
                x_axis, y_axis = ([float(end) for end in svg.get(axis).split()] for axis in ("data-x", "data-y"))
                lines = [group for group in svg.findall("g") if group.get("class").startswith("series")]
                self.assertEqual(len(lines), len(self.runs))
                for run, line in zip(self.runs, lines):
                    self.assertEqual(line.find("title").text, "/".join(run.split("/")[-2:]))
                    records = [r for r in self.metrics(run) if r["split"] == split]
                    points = re.findall(r"[ML]([\d.]+) ([\d.]+)", line.find("path").get("d"))
                    self.assertEqual(len(points), len(records))
                    for (left, top), record in zip(points, records):
                        # The area of line_chart.h, to a hundredth of a pixel.
                        drawn_x = x_axis[0] + (float(left) - 42) / 304 * (x_axis[1] - x_axis[0])
                        drawn_y = y_axis[0] + (198 - float(top)) / 184 * (y_axis[1] - y_axis[0])
                        self.assertAlmostEqual(drawn_x, x(record), delta=1e-4 * (x_axis[1] - x_axis[0]))
                        self.assertAlmostEqual(drawn_y, y(record), delta=1e-4 * (y_axis[1] - y_axis[0]))

    def test_the_tables_numbers_are_those_of_metrics_jsonl(self):
        page = self.report(self.runs[0])
        self.assertTrue(os.path.exists(os.path.join(self.runs[0], "report.html")))
        body = ElementTree.fromstring(page)
        cells = [{cell.get("data-label"): "".join(cell.itertext()) for cell in row.findall("td")}
                 for row in body.iter("tr")]
        summary = next(row for row in cells if "Last accuracy" in row)
        records = self.metrics(self.runs[0])
        train = [r for r in records if r["split"] == "train"]
        test = [r for r in records if r["split"] == "test"]
        self.assertEqual(summary["State"], "done")
        self.assertEqual(summary["Steps"], str(STEPS))
        self.assertEqual(summary["Last accuracy"], f"{100 * test[-1]['accuracy']:.2f} %")
        self.assertTrue(summary["Best accuracy"].startswith(f"{100 * max(r['accuracy'] for r in test):.2f} %"))
        self.assertEqual(summary["Training loss"], f"{train[-1]['loss']:.4f}")
        # Every report covers as many steps here, so plain means over reports are right.
        for phase in ("data", "compute", "local_update", "push", "wait"):
            mean = 1000 * sum(r[f"time.{phase}"] for r in train) / len(train)
            shown = next(row for row in cells if "sum" in row)[phase.replace("_", " ")]
            self.assertAlmostEqual(float(shown.split()[0]), mean, delta=0.0051)
        evaluations = [row for row in cells if "Correct" in row]
        self.assertEqual([row["Correct"] for row in evaluations], [f"{r['correct']} of {r['total']}" for r in test])
        self.assertEqual([row["Loss"] for row in evaluations], [f"{r['loss']:.4f}" for r in test])

    def test_differing_options_are_listed_and_no_others(self):
        page = self.report(*self.runs, "--output", os.path.join(self.folder.name, "page.html"))
        rows = [row for row in ElementTree.fromstring(page).iter("tr") if row.find("td") is not None]
        names = {row.find("th").text: ["".join(cell.itertext()) for cell in row.findall("td")] for row in rows
                 if re.fullmatch(r"[a-z_]+(\.[a-z_]+)+", row.find("th").text or "")}
        self.assertEqual(names["sync.policy"], ["ssgd", "ssd_sgd"])
        self.assertEqual(names["sync.k"], ["\u2013", "2"])
        self.assertTrue(all(name.startswith("sync.") for name in names), names)

    def test_what_cannot_be_reported_is_named(self):
        for arguments, code, message in (
                ([self.folder.name + "/none"], 2, self.folder.name + "/none: there is no such folder"),
                ([self.folder.name], 2, "not the folder of a run"),
                ([], 2, "no run given"),
                ([self.runs[0], "--set", "seed=1"], 2, "--set"),
                ([self.runs[0], "--output", self.folder.name + "/none/page.html"], 6, "/none/page.html")):
            result = subprocess.run([f"{BIN}/ssd-run", "--report", *arguments], capture_output=True, text=True)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(message, result.stderr)
        result = subprocess.run([f"{BIN}/ssd-run", "--quickstart", "--output", "x"], capture_output=True, text=True)
        self.assertEqual((result.returncode, "--output" in result.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
