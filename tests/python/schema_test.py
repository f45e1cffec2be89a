"""The JSON Schema of experiment files, held by independent validators against the loader's own verdicts.

    schema_test.py BIN_DIRECTORY SOURCE_DIRECTORY

The loader is the last word on a file. The schema must not refuse what the loader takes, and refuses what the loader
does, but for what common/config/json_schema.h names; the exceptions below are all there are.
Needs the packages of tests/requirements.txt.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema
import ruamel.yaml

SOURCE = pathlib.Path(sys.argv.pop())
BIN = pathlib.Path(sys.argv.pop())
EXPERIMENTS = SOURCE / "deploy" / "experiments"
SCHEMA_FILE = EXPERIMENTS / "experiment.schema.json"
SCHEMA = json.loads(SCHEMA_FILE.read_text())
FIRST_LINE = "# yaml-language-server: $schema=experiment.schema.json"

# Values as a file has them. Each is given to every option.
VALUES = """
0 1 2 4 8 -1 0.5 0.9 1.5 .5 5. 1e-4 1.0e-4 1E-4 1e-400 4096 4098 65536 9999999 1e9 99999999999999999999
10ep 2.5ep .5ep 1e1ep 0ep 0.0ep 0e1ep 1it 500it 0it 1.5it 1e2it -1ep 10 ep|10epochs|010ep 2000000ep
30s 500ms 5m 2h 0s 1d 200h 30sec 64KiB 1MiB 4098KiB 1GiB 0KiB 64KB 64kib 1.5MiB
true false yes off auto none resnet20 shapes cifar10 cosine step glu sgd momentum ssgd ssd_sgd every_period runs
host:7000 unix:/tmp/x "0.1" "4" "auto" "true" "text" "" ~ null [] [1ep] [1ep,"2ep"] [[1ep]] [4] [host:7000]
[unix:/tmp/x] [host] [~] {} {a: 1} .a a/b 2026-01-01 +1 0x10 010 1_000 .inf .nan True 4.0 1e2 "a\\nb" 'x y'
"""
VALUES = [value for line in VALUES.split("\n") for value in re.findall(r"10 ep|\{a: 1\}|'x y'|[^ |]+", line)]

# What the schema lets pass and the loader refuses: (value, options it concerns: a regular expression, why).
KNOWN = [
    (r"\+1|0x10|010|1_000|4\.0|5\.|8\.|1e2|1e9|True|\.inf|\.nan", ".*", "how a value is written is not in YAML's data"),
    (r'"auto"|\[1ep,"2ep"\]', ".*", "quotes are not in YAML's data"),
    (r"\.5|\[4\]", r"name|cluster\.addresses", "text that YAML takes for a number has no form to check"),
    (r"1e-400", ".*", "a number that is 0 when it is read"),
    (r"500ms|200h", r"cluster\.\w+_timeout", "the range of a value with a unit"),
    (r"1GiB|0KiB|4098KiB", r"server\.block_size", "the range of a value with a unit"),
    (r"2000000ep", ".*", "the range of a value with a unit"),
]


def read(text):
    """YAML 1.2, which has no dates, as editors and check-jsonschema read it."""
    yaml = ruamel.yaml.YAML(typ="safe", pure=True)
    yaml.constructor.add_constructor("tag:yaml.org,2002:timestamp", type(yaml.constructor).construct_yaml_str)
    return yaml.load(text)


def loader_errors(text):
    """The lines of --validate_config's complaints; [] for a valid file."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "e.yaml"
        path.write_text(text)
        result = subprocess.run([BIN / "ssd-run", "--validate_config", path], capture_output=True, text=True)
        assert result.returncode in (0, 2), result
        assert (result.returncode == 0) == (result.stderr == ""), result
        return result.stderr.replace(str(path), "e.yaml").splitlines()


def options(schema=SCHEMA, path=()):
    """Yields (path, schema) of every option."""
    for key, below in schema["properties"].items():
        if "properties" in below:
            yield from options(below, path + (key,))
        else:
            yield path + (key,), below


def sections(schema=SCHEMA, path=()):
    yield path
    for key, below in schema["properties"].items():
        if "properties" in below:
            yield from sections(below, path + (key,))


def document(values):
    """A YAML text that gives each path its value."""
    lines, open_sections = [], ()
    for path, value in values:
        for depth, key in enumerate(path[:-1]):
            if open_sections[: depth + 1] != path[: depth + 1]:
                lines.append("  " * depth + key + ":")
                open_sections = path[: depth + 1]
        open_sections = path[:-1]
        lines.append("  " * len(path[:-1]) + f"{path[-1]}: {value}")
    return "\n".join(lines) + "\n"


def schema_takes(text):
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(read(text))


def check_jsonschema(*paths):
    return subprocess.run([sys.executable, "-m", "check_jsonschema", "--schemafile", SCHEMA_FILE, *paths],
                          capture_output=True, text=True)


class Examples(unittest.TestCase):
    def test_the_schema_is_one(self):
        jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def test_every_example_names_the_schema_first_and_fits_it(self):
        examples = sorted(EXPERIMENTS.glob("*.yaml"))
        self.assertGreaterEqual(len(examples), 4)
        for path in examples:
            text = path.read_text()
            self.assertEqual(text.splitlines()[0], FIRST_LINE, path)
            jsonschema.Draft202012Validator(SCHEMA).validate(read(text))
        result = check_jsonschema(*examples)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_the_launcher_prints_the_same_schema(self):
        printed = subprocess.run([BIN / "ssd-run", "--print_schema"], capture_output=True, text=True, check=True)
        self.assertEqual(printed.stdout, SCHEMA_FILE.read_text())

    def test_a_resolved_experiment_fits(self):
        for setting in ("seed=1", "sync.policy=ssgd"):
            printed = subprocess.run([BIN / "ssd-run", "--quickstart", "--print_config", "--set", setting],
                                     capture_output=True, text=True, check=True)
            jsonschema.Draft202012Validator(SCHEMA).validate(read(printed.stdout))

    def test_the_command_refuses_what_it_should(self):
        for text in ("optimzer: {}\n", "optimizer: {lr: 0}\n", "training: {duration: 10}\n"):
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "wrong.yaml"
                path.write_text(text)
                result = check_jsonschema(path)
                self.assertEqual(result.returncode, 1, (text, result.stdout, result.stderr))
                self.assertIn("Schema validation errors", result.stdout)


class Agreement(unittest.TestCase):
    """Every value for every option, and whole files, to both."""

    def test_values(self):
        paths = [path for path, _ in options()]
        self.assertGreater(len(paths), 30)
        seen = {True: 0, False: 0}
        different, used = [], set()
        for value in VALUES:
            refused = set()
            for line in loader_errors(document([(path, value) for path in paths])):
                match = re.match(r"e\.yaml:\d+:\d+: ([\w.]+)(?:\[\d+\])?: (.*)", line)
                # What follows from other options is no verdict on the value.
                if match and not re.match(r"got \d+ addresses|step needs|\d+ servers are too many|cluster.addresses\[",
                                          match[2]):
                    refused.add(match[1])
            for path, schema in options():
                name = ".".join(path)
                loader, validator = name not in refused, jsonschema.Draft202012Validator(schema)
                takes = validator.is_valid(read(document([(("key",), value)]))["key"])
                seen[loader] += 1
                if loader and not takes:
                    different.append(f"{name}: {value}: the loader takes it and the schema does not")
                if takes and not loader:
                    why = [entry for entry in KNOWN if re.fullmatch(entry[0], value) and re.fullmatch(entry[1], name)]
                    used.update(why[:1])
                    if not why:
                        different.append(f"{name}: {value}: the schema takes it and the loader does not")
        self.assertEqual(different, [], "\n".join(different))
        self.assertEqual(set(KNOWN) - used, set(), "exceptions that are none")
        self.assertGreater(seen[True], 200)
        self.assertGreater(seen[False], 1000)

    def test_the_numbers_that_yaml_1_1_takes_for_text(self):
        rate = jsonschema.Draft202012Validator(SCHEMA["properties"]["optimizer"]["properties"]["lr"])
        for text, valid in {"1e-4": True, "2E5": True, "1.5e3": True, "0.1": False, "1": False, "e4": False}.items():
            self.assertEqual(rate.is_valid(text), valid, text)

    def test_keys_that_are_not_there(self):
        for path in sections():
            text = document([(path + ("bogus",), 1)])
            self.assertIn("unknown key", "\n".join(loader_errors(text)), text)
            self.assertFalse(schema_takes(text), text)

    def test_whole_files(self):
        cases = {
            "": True,
            "# only comments\n": True,
            "optimizer:\n  # lr: 0.1\nsync:\n": True,
            "sync: {local: }\n": True,
            "sync: ~\n": True,
            "optimizer: 3\n": False,
            "optimizer: [lr]\n": False,
            "- a\n": False,
            "text\n": False,
            # Options and what they need.
            "sync: {k: 2}\n": True,
            "sync: {policy: ssd_sgd, k: 2, local: {beta: 0.5}}\n": True,
            "sync: {policy: ssgd}\n": True,
            "sync: {policy: ssgd, local: {}}\n": True,
            "sync: {policy: ssgd, k: 2}\n": False,
            "sync: {policy: ssgd, local: {alpha: 1}}\n": False,
            "sync: {local: {update: sgd, alpha: 1}}\n": True,
            "sync: {local: {update: sgd, beta: 1}}\n": False,
            "sync: {local: {update: momentum, alpha: auto}}\n": False,
            "optimizer: {schedule: {kind: step, milestones: [1ep], gamma: 0.5}}\n": True,
            "optimizer: {schedule: {kind: cosine, gamma: 0.5}}\n": False,
            "optimizer: {schedule: {gamma: 0.5}}\n": False,
            "optimizer: {schedule: {power: 2}}\n": False,
            "data: {path: /x}\n": True,
            "data: {dataset: shapes, shapes_test: 10}\n": True,
            "data: {dataset: shapes, path: /x}\n": False,
            "data: {shapes_test: 10}\n": False,
        }
        for text, valid in cases.items():
            with self.subTest(text):
                errors = loader_errors(text)
                self.assertEqual(errors == [], valid, errors)
                self.assertEqual(schema_takes(text), valid)


if __name__ == "__main__":
    unittest.main()
