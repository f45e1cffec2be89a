"""What run.py compares: programs that are asked for a round each, in turn. Needs Python 3 alone."""

import json
import os
import pathlib
import queue
import statistics
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = pathlib.Path(__file__).resolve().parent / "peers"
START_SECONDS = 600  # torch.compile takes minutes
ROUND_SECONDS = 300


class Failure(Exception):
    """A contender does not run."""


def environment(threads, **more):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), **{key: str(value) for key, value in more.items()}}


class Program:
    """One process that speaks as peers/rounds.py says."""

    def __init__(self, command, env, log):
        self.command = [str(word) for word in command]
        self.log = log
        self.process = subprocess.Popen(self.command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(log, "a"), text=True)
        self.answers = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.answers.put(line)
        self.answers.put(None)

    def ask(self, steps):
        try:
            print(steps, file=self.process.stdin, flush=True)
        except OSError:
            pass  # it has ended, and answer() says so

    def answer(self, seconds):
        try:
            line = self.answers.get(timeout=seconds)
        except queue.Empty:
            line = None
        if line is None:
            raise Failure(f"{' '.join(self.command)}: no answer within {seconds} s, or it ended; see {self.log}")
        return json.loads(line)

    def stop(self):
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has ended before it read all
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Group:
    """Programs that run their rounds at once; a round's result is the sum of their samples/s, by the group's name.

    `commands`: a command and its environment for each; `helpers`: the same for processes that only have to be there.
    """

    def __init__(self, name, steps, commands, out, helpers=()):
        self.name, self.steps = name, steps
        self.log = out / f"{name}.log"
        self.helpers = [subprocess.Popen(command, env=env, stdout=open(self.log, "a"), stderr=subprocess.STDOUT)
                        for command, env in helpers]
        self.programs = []
        try:
            for command, env in commands:
                self.programs.append(Program(command, env, self.log))
            self.versions = [program.answer(START_SECONDS)["versions"] for program in self.programs][0]
        except Failure:
            self.stop()
            raise

    def round(self):
        for program in self.programs:
            program.ask(self.steps)
        answers = [program.answer(ROUND_SECONDS) for program in self.programs]
        return {self.name: {"samples/s": sum(answer["samples"] / answer["seconds"] for answer in answers)}}

    def stop(self):
        for program in self.programs:
            program.stop()
        for helper in self.helpers:
            helper.terminate()
            helper.wait()


def peer(name):
    """The Python of a system that peers/setup.sh has set up."""
    python = ROOT / "build" / "peers" / name / "python"
    if not python.exists():
        raise Failure(f"{python} is not there: run tests/benchmark/peers/setup.sh first")
    return python


def pytorch_step(out, model, batch, threads, mode, steps):
    command = [peer("torch"), PEERS / "pytorch_step.py", model, batch, threads, mode]
    return Group(f"pytorch_{mode}", steps, [(command, environment(threads))], out)


def mxnet_step(out, batch, threads, steps):
    command = [peer("mxnet"), PEERS / "mxnet_worker.py", batch, "local"]
    return Group("mxnet", steps, [(command, environment(threads))], out)


def pytorch_bare(out, workers, batch, steps):
    command = [peer("torch"), PEERS / "pytorch_step.py", "resnet20", batch, 1, "eager"]
    return Group("pytorch_bare", steps, [(command, environment(1))] * workers, out)


def mxnet_bare(out, workers, batch, steps):
    command = [peer("mxnet"), PEERS / "mxnet_worker.py", batch, "local"]
    return Group("mxnet_bare", steps, [(command, environment(1))] * workers, out)


def bare(out, binaries, workers, batch, steps):
    command = [binaries / "bare_worker", "resnet20", batch, 1]
    return Group("bare", steps, [(command, environment(1))] * workers, out)


def pytorch_ddp(out, workers, batch, steps, port):
    command = [peer("torch"), PEERS / "pytorch_ddp.py", "resnet20", batch, 1]
    return Group("pytorch_ddp", steps,
                 [(command, environment(1, RANK=rank, WORLD_SIZE=workers, MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                        GLOO_SOCKET_IFNAME="lo")) for rank in range(workers)], out)


def mxnet_dist_sync(out, workers, servers, batch, steps, port):
    def role(name):
        return environment(1, DMLC_ROLE=name, DMLC_NUM_WORKER=workers, DMLC_NUM_SERVER=servers,
                           DMLC_PS_ROOT_URI="127.0.0.1", DMLC_PS_ROOT_PORT=port, DMLC_NODE_HOST="127.0.0.1")

    # The scheduler and the servers never return from the import.
    idle = [str(peer("mxnet")), "-c", "import mxnet"]
    worker = [peer("mxnet"), PEERS / "mxnet_worker.py", batch, "dist_sync"]
    return Group("mxnet_dist_sync", steps, [(worker, role("worker"))] * workers, out,
                 helpers=[(idle, role("scheduler"))] + [(idle, role("server"))] * servers)


class SsdRun:
    """Whole runs of ssd-run; a round's result is the median of one run's reports after the first ones, by its name."""

    versions = None

    def __init__(self, out, binaries, name, sets, steps, warmup_reports):
        self.out, self.name, self.warmup_reports = out, name, warmup_reports
        self.command = [str(binaries / "ssd-run"), str(pathlib.Path(__file__).parent / "system.yaml")]
        for change in [f"name={name}", f"output.directory={out / 'runs'}", f"training.duration={steps}it", *sets]:
            self.command += ["--set", change]

    def round(self):
        done = subprocess.run(self.command, capture_output=True, text=True, timeout=ROUND_SECONDS)
        if done.returncode != 0:
            raise Failure(f"{' '.join(self.command)}: exit code {done.returncode}: {done.stderr[-1000:]}")
        folder = max((self.out / "runs" / self.name).iterdir(), key=lambda path: path.name)
        with open(folder / "metrics.jsonl") as file:
            lines = [line for line in map(json.loads, file) if line["split"] == "train"]
        speeds = [line["samples_per_second"] for line in lines[self.warmup_reports:]]
        return {self.name: {"samples/s": statistics.median(speeds)}}

    def stop(self):
        pass


class GoogleBenchmark:
    """Calls of a binary on Google Benchmark; a round's result is the counters of each benchmark, by their names."""

    versions = None

    def __init__(self, binary, filter, seconds, threads):
        self.command = [str(binary), f"--benchmark_filter={filter}", f"--benchmark_min_time={seconds}",
                        "--benchmark_format=json"]
        self.env = environment(threads)

    def round(self):
        done = subprocess.run(self.command, env=self.env, capture_output=True, text=True, timeout=ROUND_SECONDS)
        if done.returncode != 0 or not done.stdout:
            raise Failure(f"{' '.join(self.command)}: exit code {done.returncode}: {done.stderr[-1000:]}")
        found = {}
        for entry in json.loads(done.stdout)["benchmarks"]:
            if entry.get("error_occurred"):
                raise Failure(f"{entry['name']}: {entry['error_message']}")
            name = entry["run_name"].removesuffix("/real_time").removesuffix("/manual_time")
            found[name] = {key: value for key, value in entry.items() if isinstance(value, float)}
        return found

    def stop(self):
        pass
