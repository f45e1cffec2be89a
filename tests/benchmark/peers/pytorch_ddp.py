#!/usr/bin/env python3
"""pytorch_ddp.py MODEL BATCH THREADS: one worker of PyTorch's DistributedDataParallel over gloo, by rounds (rounds.py).

RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say which worker, of how many, and where they meet.
"""

import sys

import rounds
import torch
from pytorch_resnet import Training
from torch import distributed
from torch.nn.parallel import DistributedDataParallel


def main():
    model, batch, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    distributed.init_process_group("gloo")
    training = Training(model, batch, threads, DistributedDataParallel)
    rounds.serve(f"PyTorch {torch.__version__}", batch, training.step)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
