#!/usr/bin/env python3
"""Who may include whom: docs/architecture.md's rules, by reading the #include lines.

    layering_test.py ROOT          checks the tree; prints each offence as file:line and exits 1 if there is one
    layering_test.py --self_test   proves on made-up trees that each rule finds its offence

Debian puts gRPC and oneDNN on the default include path, so a file may include what its target does not link.
"""
import pathlib
import re
import sys
import tempfile

FOLDERS = ("common", "models", "server", "worker", "deploy", "tests")
PRODUCT = ("common", "models", "server", "worker", "deploy")
SUFFIXES = {".h", ".cc", ".cu", ".cuh", ".inc", ".py"}
MAX_LINES = 400

GRPC_FILES = r"(common/wire/|server/|worker/|tests/.*)\w*grpc\w*\.(h|cc)|tests/integration/.*"
# (who: paths, what: includes, exempt: paths, why)
RULES = [
    (r"common/", r"(models|server|worker|deploy)/", None, "common knows nobody above it"),
    (r"models/", r"(server|worker|deploy)/", None, "models know only common"),
    (r"models/", r"ssd/v1/|google/protobuf/|common/wire/|common/config/", None, "models know no messages"),
    (r"server/", r"(models|worker|deploy)/", None, "a server has no models, and meets workers only in proto and common"),
    (r"worker/", r"(server|deploy)/", None, "workers meet servers only in proto and common"),
    (r"worker/data/", r"worker/(?!data/)", None, "data sources do not know the trainer"),
    (r"deploy/", r"server/|worker/(?!data/)", None, "the launcher runs servers and workers, and links neither"),
    (r"(common|models|server|worker|deploy)/", r"tests/", None, "the product does not include tests"),
    (r"", r"grpc(pp)?/|.*\.grpc\.pb\.h", GRPC_FILES, "gRPC stays in common/wire/grpc_* and the adapters named *grpc*"),
    (r"", r"(common/wire|server|worker)/\w*grpc\w*\.h", GRPC_FILES + r"|(server|worker)/main\.cc",
     "what includes gRPC is for adapters and main"),
    (r"", r"(oneapi/)?dnnl", r"models/cpu/.*|tests/benchmark/onednn_\w+\.cc", "oneDNN stays in models/cpu"),
    (r"", r"models/(cpu|cuda)/", r"models/.*|tests/.*", "layers speak to Device only; models/ chooses one"),
    (r"", r"cud(a|nn)\w*\.h|cublas\w*\.h|cuda/", r"models/cuda/.*", "CUDA stays in models/cuda"),
    (r"", r"yaml-cpp/", r"common/config/.*", "yaml-cpp stays in common/config"),
]
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')


def offences(root):
    """Yields (path, line number, why) of every offence, sorted; and at last the number of files read."""
    root = pathlib.Path(root)
    files = 0
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            files += 1
            name = path.relative_to(root).as_posix()
            lines = path.read_text(encoding="utf-8").splitlines()
            if len(lines) > MAX_LINES:
                yield name, MAX_LINES + 1, f"{len(lines)} lines, more than {MAX_LINES}: look for a seam"
            for number, line in enumerate(lines, start=1):
                match = INCLUDE.match(line)
                if match is None:
                    continue
                for who, what, exempt, why in RULES:
                    if not re.match(who, name) or not re.match(what, match.group(1)):
                        continue
                    if exempt is not None and re.fullmatch(exempt, name):
                        continue
                    yield name, number, f"includes {match.group(1)}: {why}"
    if files == 0:
        yield ".", 0, "no source file was found"


def check(root):
    found = list(offences(root))
    for name, number, why in found:
        print(f"{name}:{number}: {why}")
    return found


GOOD = {
    "common/a.cc": '#include "common/a.h"\n#include "ssd/v1/x.pb.h"\n',
    "common/wire/grpc_frame.cc": "#include <grpcpp/grpcpp.h>\n",
    "common/config/tree.cc": "#include <yaml-cpp/parser.h>\n",
    "models/cpu/conv.cc": "#include <dnnl.hpp>\n",
    "models/cuda/conv.cu": "#include <cudnn.h>\n",
    "models/device.cc": '#include "models/cpu/conv.h"\n',
    "server/main.cc": '#include "server/grpc_server.h"\n',
    "server/grpc_server.cc": '#include "ssd/v1/x.grpc.pb.h"\n#include "common/wire/grpc_frame.h"\n',
    "worker/trainer.cc": '#include "models/model.h"\n#include "common/wire/frame.h"\n' + "\n" * (MAX_LINES - 2),
    "worker/grpc_shard_channel.h": "#include <grpc/grpc.h>\n",
    "deploy/run/main.cc": '#include "worker/data/cifar10.h"\n',
    "tests/integration/grpc_test.cc": '#include "server/grpc_server.h"\n#include "tests/x.h"\n',
    "tests/benchmark/onednn_device.cc": "#include <dnnl.hpp>\n",
    "docs/note.cc": '#include "server/of_no_interest.h"\n#include <grpcpp/grpcpp.h>\n',
}
BAD = [
    ("common/a.h", '#include "models/model.h"'),
    ("common/config/a.cc", '#include "server/shard.h"'),
    ("common/io/a.cc", '#include "worker/trainer.h"'),
    ("models/a.cc", '#include "worker/trainer.h"'),
    ("models/cpu/a.cc", '#include "ssd/v1/experiment.pb.h"'),
    ("models/a.cc", '#include "common/wire/frame.h"'),
    ("models/a.cc", "#include <grpcpp/grpcpp.h>"),
    ("models/a.cc", "#include <dnnl.hpp>"),
    ("models/cpu/a.cc", "#include <cuda_runtime.h>"),
    ("server/a.cc", '#include "models/model.h"'),
    ("server/a.cc", '  #  include "worker/trainer.h"'),
    ("server/main.cc", "#include <grpcpp/server.h>"),
    ("server/shard.h", '#include "server/grpc_session.h"'),
    ("worker/trainer.cc", "#include <grpcpp/channel.h>"),
    ("worker/trainer.cc", '#include "ssd/v1/x.grpc.pb.h"'),
    ("worker/trainer.cc", '#include "common/wire/grpc_frame.h"'),
    ("worker/trainer.cc", '#include "server/shard.h"'),
    ("worker/trainer.cc", '#include "models/cpu/conv.h"'),
    ("worker/data/a.cc", '#include "worker/trainer.h"'),
    ("worker/a.cc", "#include <yaml-cpp/yaml.h>"),
    ("deploy/run/a.cc", '#include "worker/trainer.h"'),
    ("deploy/run/a.cc", '#include "server/shard.h"'),
    ("common/a.cc", '#include "tests/testing/golden.h"'),
    ("tests/server/a.cc", "#include <grpcpp/grpcpp.h>"),
    ("tests/models/a.cc", "#include <dnnl.hpp>"),
]


def write(root, files):
    for name, text in files.items():
        path = pathlib.Path(root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def self_test():
    failures = 0
    with tempfile.TemporaryDirectory() as root:
        if list(offences(root)) != [(".", 0, "no source file was found")]:
            failures += 1
            print("FAILED: an empty tree passes")
        write(root, GOOD)
        failures += len(check(root))
    for name, include in BAD:
        with tempfile.TemporaryDirectory() as root:
            write(root, {**GOOD, name: f"// A comment.\n{include}\n"})
            found = {(path, number) for path, number, _ in offences(root)}
            if found != {(name, 2)}:
                failures += 1
                print(f"FAILED: {name} with {include!r}: found {found}")
    with tempfile.TemporaryDirectory() as root:
        write(root, {"tests/long.cc": "\n" * (MAX_LINES + 1)})
        if [(path, number) for path, number, _ in offences(root)] != [("tests/long.cc", MAX_LINES + 1)]:
            failures += 1
            print("FAILED: a long file passes")
    print(f"{len(BAD) + 3 - failures} passed, {failures} failed")
    return failures


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(1 if (self_test() if sys.argv[1] == "--self_test" else check(sys.argv[1])) else 0)
