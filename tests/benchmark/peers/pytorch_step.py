#!/usr/bin/env python3
"""pytorch_step.py MODEL BATCH THREADS eager|compile: a training step of PyTorch, by rounds (rounds.py)."""

import sys

import rounds
import torch
from pytorch_resnet import Training


def main():
    model, batch, threads, mode = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    if mode not in ("eager", "compile"):
        sys.exit(f"unknown mode {mode!r}")
    training = Training(model, batch, threads, torch.compile if mode == "compile" else lambda model: model)
    rounds.serve(f"PyTorch {torch.__version__}", batch, training.step)


if __name__ == "__main__":
    main()
