"""How the programs that are compared are asked for rounds: each stays alive, and measures when it is told to.

The program says {"versions": "..."} on standard output when it is built and warm. Then each line on standard input is a
number of steps, and is answered with {"samples": S, "seconds": T}. The end of the input ends it. tests/benchmark's
bare_worker speaks the same.
"""

import json
import os
import sys
import time

WARM_UP_STEPS = 3


def serve(versions, batch, step, finish=lambda: None):
    """`step` trains on one batch; `finish` returns when all steps so far are done (where they are queued)."""
    for _ in range(WARM_UP_STEPS):
        step()
    finish()
    _say({"versions": versions})
    for line in sys.stdin:
        steps = int(line)
        step()  # what slept is not what is measured
        finish()
        before = time.perf_counter()
        for _ in range(steps):
            step()
        finish()
        _say({"samples": steps * batch, "seconds": time.perf_counter() - before})


# Libraries print what they like: standard output is the answers', and goes to standard error for all others.
_answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def _say(answer):
    print(json.dumps(answer), file=_answers, flush=True)
