"""The residual networks of He et al. 2015 in PyTorch, as ours are: ResNet-20 for CIFAR with shortcut A, and ResNet-50 for
ImageNet (v1.5: the stride on the 3x3)."""

import torch
from torch import nn
from torch.nn import functional


def convolution(inputs, outputs, kernel, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = convolution(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = convolution(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        self.stride, self.padding = stride, outputs - inputs

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.padding:
            before = self.padding // 2
            x = x[:, :, :: self.stride, :: self.stride]
            x = functional.pad(x, (0, 0, 0, 0, before, self.padding - before))
        return functional.relu(y + x)


class Bottleneck(nn.Module):
    def __init__(self, inputs, inner, stride):
        super().__init__()
        outputs = 4 * inner
        self.conv1, self.bn1 = convolution(inputs, inner, 1), nn.BatchNorm2d(inner)
        self.conv2, self.bn2 = convolution(inner, inner, 3, stride), nn.BatchNorm2d(inner)
        self.conv3, self.bn3 = convolution(inner, outputs, 1), nn.BatchNorm2d(outputs)
        same = inputs == outputs and stride == 1
        self.downsample = None if same else nn.Sequential(
            convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = functional.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return functional.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet20():
    blocks, inputs = [], 16
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        for block in range(3):
            blocks.append(BasicBlock(inputs, outputs, stride if block == 0 else 1))
            inputs = outputs
    return nn.Sequential(convolution(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def resnet50():
    blocks, inputs = [], 64
    for inner, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for block in range(count):
            blocks.append(Bottleneck(inputs, inner, stride if block == 0 else 1))
            inputs = 4 * inner
    return nn.Sequential(convolution(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


# The network, the side of its images, and its classes.
MODELS = {"resnet20": (resnet20, 32, 10), "resnet50": (resnet50, 224, 1000)}


class Training:
    """A model, one made-up batch, and momentum SGD. `wrap` may put something around the model."""

    def __init__(self, name, batch, threads, wrap=lambda model: model):
        torch.set_num_threads(threads)
        torch.manual_seed(1)
        make, side, classes = MODELS[name]
        self.model = wrap(make().to(memory_format=torch.channels_last))
        self.images = torch.rand(batch, 3, side, side).to(memory_format=torch.channels_last)
        self.labels = torch.arange(batch) % classes
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4)

    def step(self):
        self.optimizer.zero_grad()
        functional.cross_entropy(self.model(self.images), self.labels).backward()
        self.optimizer.step()
