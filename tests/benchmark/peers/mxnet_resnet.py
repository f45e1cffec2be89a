"""ResNet-20 for CIFAR with shortcut A (He et al. 2015) in MXNet's Gluon, as ours is."""

import mxnet as mx
from mxnet import autograd, gluon
from mxnet.gluon import nn


def convolution(outputs, stride=1):
    return nn.Conv2D(outputs, 3, stride, padding=1, use_bias=False)


class BasicBlock(gluon.HybridBlock):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.stride, self.padding = stride, outputs - inputs
        with self.name_scope():
            self.body = nn.HybridSequential()
            self.body.add(convolution(outputs, stride), nn.BatchNorm(), nn.Activation("relu"),
                          convolution(outputs), nn.BatchNorm())

    def hybrid_forward(self, F, x):
        y = self.body(x)
        if self.padding:
            x = F.slice(x, begin=(None,) * 4, end=(None,) * 4, step=(1, 1, self.stride, self.stride))
            zeros = F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=self.padding // 2))
            x = F.concat(zeros, x, zeros, dim=1)
        return F.relu(y + x)


def resnet20():
    net, inputs = nn.HybridSequential(), 16
    net.add(convolution(16), nn.BatchNorm(), nn.Activation("relu"))
    for outputs, stride in ((16, 1), (32, 2), (64, 2)):
        for block in range(3):
            net.add(BasicBlock(inputs, outputs, stride if block == 0 else 1))
            inputs = outputs
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
    return net


class Training:
    """ResNet-20, one made-up batch, and momentum SGD, on the servers where `store` has some."""

    def __init__(self, batch, store):
        mx.random.seed(1)
        self.net = resnet20()
        self.net.initialize(mx.init.Xavier())
        self.net.hybridize(static_alloc=True, static_shape=True)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        self.images = mx.nd.random.uniform(shape=(batch, 3, 32, 32))
        self.labels = mx.nd.arange(batch) % 10
        self.global_batch = batch * store.num_workers
        self.trainer = gluon.Trainer(self.net.collect_params(), "sgd",
                                     {"learning_rate": 0.001, "momentum": 0.9, "wd": 1e-4}, kvstore=store)

    def step(self):
        with autograd.record():
            loss = self.loss(self.net(self.images), self.labels)
        loss.backward()
        self.trainer.step(self.global_batch)
