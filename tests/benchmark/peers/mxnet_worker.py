#!/usr/bin/env python3
"""mxnet_worker.py BATCH local|dist_sync: a worker of MXNet on ResNet-20, by rounds (rounds.py).

Threads are OMP_NUM_THREADS. With dist_sync the DMLC_* variables say where the scheduler is.
"""

import sys

import mxnet as mx
import rounds
from mxnet_resnet import Training


def main():
    batch, store = int(sys.argv[1]), mx.kv.create(sys.argv[2])
    training = Training(batch, store)
    rounds.serve(f"MXNet {mx.__version__}", batch, training.step, mx.nd.waitall)


if __name__ == "__main__":
    main()
