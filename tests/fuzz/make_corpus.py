#!/usr/bin/env python3
"""Writes the seeds of tests/fuzz/corpus that are not text, or not all of it: python3 tests/fuzz/make_corpus.py

Small and well-formed, or wrong in one place; the fuzzers find the rest. The experiments' seeds are written by hand, beside
the files of deploy/experiments, which deploy/fuzz.sh gives the fuzzer too.
"""
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    return varint(field << 3 | 2) + varint(len(value)) + value


def frame(header, payload=b"", piece=0):
    """What frame_fuzzer reads: the size of the pieces, then the frame."""
    return bytes([piece]) + text(1, header) + (text(2, payload) if payload else b"")


def frames():
    generation = number(1, 1)
    floats = struct.pack("<2f", 1.5, -2.0)
    tensor = text(1, b"conv1.weight") + text(2, bytes([16, 3, 3, 3]))
    field = text(1, b"optimizer.lr") + text(2, b"0.1")
    hello = b"".join([number(1, 1), number(2, 1), number(3, 1 << 60), number(4, 1), number(5, 50_000), text(6, tensor),
                      text(7, tensor), text(8, field)])
    goodbye = number(1, 200) + text(2, b"lost worker 1 at step 7")
    return {
        "empty_header": frame(b""),
        "hello": frame(text(2, hello)),
        "initial": frame(generation + text(3, number(1, 2)), floats),
        "push": frame(generation + text(4, number(1, 2) + number(2, 300)), floats, piece=3),
        "push_skipped": frame(generation + text(4, number(2, 300) + number(3, 1))),
        "pull": frame(generation + text(5, number(1, 304) + number(2, 1) + text(3, bytes([0, 2])))),
        "report": frame(generation + text(6, number(1, 5) + number(2, 5) + b"\x19" + struct.pack("<d", 2.5))),
        "evaluated": frame(generation + text(7, number(1, 4) + number(3, 1) + number(4, 2))),
        "worker_goodbye": frame(generation + text(8, goodbye)),
        "welcome": frame(generation + text(2, b"")),
        "block": frame(generation + text(3, number(1, 2) + number(2, 304)), floats, piece=1),
        "shard_goodbye": frame(generation + text(4, goodbye)),
        "declares_more": frame(b"")[:1] + b"\x0a\x00\x12" + varint(1 << 23),
        "long_varint": b"\x00\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02",
        "odd_payload": frame(b"", b"12345"),
    }


def safetensors(header, values=b""):
    encoded = header if isinstance(header, bytes) else json.dumps(header, separators=(",", ":")).encode()
    encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + values


def model(dtype="F32", metadata=None):
    """The model that safetensors_fuzzer wants, or nearly."""
    header = {} if metadata is None else {"__metadata__": metadata}
    at = 0
    for name, shape in [("conv1.weight", [2, 1, 1, 2]), ("bn1.weight", [2]), ("bn1.bias", [2]), ("bn1.running_mean", [2]),
                        ("bn1.running_var", [2]), ("fc.weight", [1, 2])]:
        size = 4
        for dimension in shape:
            size *= dimension
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    header["bn1.num_batches_tracked"] = {"dtype": "I64", "shape": [], "data_offsets": [at, at + 8]}
    return safetensors(header, struct.pack("<14f", *range(14)) + struct.pack("<q", 3))


def tensor(dtype, shape, begin, end, name="w"):
    return {name: {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}}


def files():
    return {
        "model": model(metadata={"format": "pt"}),
        "model_of_integers": model(dtype="I32"),
        "nothing": safetensors({}),
        "metadata_alone": safetensors({"__metadata__": {}}),
        "bf16": safetensors(tensor("BF16", [3], 0, 6), bytes(6)),
        "empty_tensor": safetensors(tensor("F32", [0, 4], 0, 0)),
        "two": safetensors({**tensor("U8", [1], 0, 1, "a"), **tensor("F64", [1], 1, 9, "b")}, bytes(9)),
        "overlap": safetensors({**tensor("U8", [2], 0, 2, "a"), **tensor("U8", [2], 1, 3, "b")}, bytes(3)),
        "product_wraps": safetensors(tensor("F32", [1 << 62, 4], 0, 0)),
        "twice": safetensors(b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{}}', bytes(1)),
        "escapes": safetensors(b'{"\\u00e9\\n":{"data_offsets":[0,1],"shape":[1],"dtype":"BOOL"}}', bytes(1)),
        "nested": safetensors(b'{"a":' + b"[" * 40),
        "declares_more": struct.pack("<Q", 99_999_999) + b"{}",
    }


def images():
    names = b"airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n"
    record = b"\x09" + bytes(i * 7 % 256 for i in range(3072))
    return {
        "one_record": b"\x01" + record,
        "bad_label": b"\x01" + b"\x0a" + record[1:],
        "short": b"\x01" + record[:-1],
        "no_records": b"\x00",
        "names": b"\x02" + names,
        "nine_names": b"\x02" + names[names.index(b"\n") + 1:],
    }


def event(kind, stream, content=None):
    """One of session_fuzzer's: 0 a frame, 1 a frame with two floats, 2 the end of a stream, 3 a second."""
    return bytes([kind * 4 + stream]) + (b"" if content is None else bytes([len(content)]) + content)


def sessions():
    """Runs of two workers on streams 0 and 1, of a model of one block of parameters and one of statistics."""
    generation = number(1, 1)

    def said(header):
        return text(1, header)

    def hello(worker, incarnation=1):
        def tensor_of(name):
            return text(1, name) + text(2, bytes([2]))
        return said(text(2, number(1, 1) + number(2, worker) + number(3, incarnation) + number(5, 50) +
                         text(6, tensor_of(b"w")) + text(7, tensor_of(b"m")) + text(8, text(1, b"k") + text(2, b"2"))))

    initial = b"".join(event(1, 0, said(generation + text(3, number(1, block) if block else b""))) for block in (0, 1))

    def push(block, step):
        return said(generation + text(4, number(1, block) + number(2, step)))

    def pull(version, blocks=b"\0\1"):
        return said(generation + text(5, number(1, version) + number(2, 1) + text(3, blocks)))

    goodbye = said(generation + text(8, b""))
    lost = said(generation + text(8, number(1, 200) + text(2, b"lost shard 1")))
    joined = event(0, 0, hello(0)) + event(0, 1, hello(1)) + initial
    steps = b""
    for step in range(8):
        for stream in (0, 1):
            if step % 2 == 1:
                steps += event(1, stream, push(1, step))
            steps += event(1, stream, push(0, step))
            if step % 2 == 1:
                steps += event(0, stream, pull(step + 1))
    report = said(generation + text(6, number(1, 2) + number(2, 2)))
    return {
        "run": b"\0" + joined + steps + event(0, 0, goodbye) + event(0, 1, goodbye),
        "deterministic_run": b"\1" + joined + steps + event(0, 0, goodbye) + event(0, 1, goodbye),
        "reports": b"\0" + joined + event(0, 0, report) + event(0, 1, report),
        "newer_incarnation": b"\0" + joined + event(0, 2, hello(1, 2)),
        "older_incarnation": b"\0" + joined + event(0, 2, hello(1)),
        "lost": b"\0" + joined + event(2, 1),
        "told": b"\0" + joined + event(0, 1, lost),
        "silence": b"\0" + event(0, 0, hello(0)) + event(3, 0) * 70,
        "pulls_ahead": b"\0" + joined + event(0, 1, pull(8)) * 3,
        "stranger": b"\0" + joined + event(0, 2, push(0, 0)) + event(0, 3, b"garbage"),
    }


for folder, seeds in (("frame", frames()), ("session", sessions()), ("safetensors", files()), ("cifar10", images())):
    (CORPUS / folder).mkdir(parents=True, exist_ok=True)
    for name, content in seeds.items():
        (CORPUS / folder / name).write_bytes(content)
