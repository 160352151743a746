#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Time the study networks in PyTorch: the peer that every backend is measured against.

One CSV row per point:
  device,threads,mode,network,width,depth,image,batch,phase,seconds_per_step,images_per_s
Phases: train = forward + backward + SGD update; classify = forward + argmax.
Input stays on the device; --copy adds the host-device copy of the batch and of the answer to every step.
Modes are words joined: graph (CUDA graph of the step), compile (torch.compile), tf32, cl (channels_last); or eager.
The best of them is the peer. On the CPU: eager or compile.

  torch_peer.py cuda --networks lenet5 --images 32,64,104 --batches 1 --modes graph,compilegraph
  torch_peer.py cpu --threads 1 --networks width --widths 1,4,16 --batches 128
"""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Subsample(nn.Module):
    """Sum of every 2x2 window times a trainable gain plus a trainable bias per map, then tanh."""

    def __init__(self, maps):
        super().__init__()
        self.gain = nn.Parameter(torch.full((1, maps, 1, 1), 0.25))
        self.bias = nn.Parameter(torch.zeros(1, maps, 1, 1))

    def forward(self, x):
        return torch.tanh(F.avg_pool2d(x, 2) * (4 * self.gain) + self.bias)


def out(side, kernel, stride=1):
    return (side - kernel) // stride + 1


def lenet5(width, depth, image, channels=1):
    assert depth == 1
    c1 = out(image, 5); s2 = c1 // 2; c3 = out(s2, 5); s4 = c3 // 2; c5 = out(s4, 5)
    return nn.Sequential(
        nn.Conv2d(channels, 6 * width, 5), nn.Tanh(), Subsample(6 * width),
        nn.Conv2d(6 * width, 16 * width, 5), nn.Tanh(), Subsample(16 * width),
        nn.Conv2d(16 * width, 120 * width, 5), nn.Tanh(),
        nn.Flatten(), nn.Linear(120 * width * c5 * c5, 10))


def simard(width, depth, image, channels=1):
    assert depth == 1
    c1 = out(image, 5, 2); c2 = out(c1, 5, 2)
    return nn.Sequential(
        nn.Conv2d(channels, 5 * width, 5, stride=2), nn.Tanh(),
        nn.Conv2d(5 * width, 50 * width, 5, stride=2), nn.Tanh(),
        nn.Flatten(), nn.Linear(50 * width * c2 * c2, 100 * width), nn.Tanh(), nn.Linear(100 * width, 10))


def stack(width, depth, image, channels=1):
    """depth 3x3 same-padded convolutions of 32*width maps with tanh, a 2x2 max pool, ten outputs."""
    layers, c = [], channels
    for _ in range(depth):
        layers += [nn.Conv2d(c, 32 * width, 3, padding=1), nn.Tanh()]
        c = 32 * width
    return nn.Sequential(*layers, nn.MaxPool2d(2), nn.Flatten(), nn.Linear(c * (image // 2) ** 2, 10))


def large(width, depth, image, channels=2):
    """5x5 valid convolution of 16*width maps + tanh + 2x2 max pool until the side is under 12; 100; 10."""
    assert depth == 1
    layers, c, side = [], channels, image
    while side >= 12:
        layers += [nn.Conv2d(c, 16 * width, 5), nn.Tanh(), nn.MaxPool2d(2)]
        c, side = 16 * width, out(side, 5) // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(c * side * side, 100), nn.Tanh(), nn.Linear(100, 10))


NETWORKS = {'lenet5': (lenet5, 1), 'simard': (simard, 1), 'stack': (stack, 1), 'large': (large, 2)}


def median_seconds(step, sync, budget):
    for _ in range(3):
        step()
    sync()
    start = time.perf_counter(); step(); sync(); once = time.perf_counter() - start
    inner = max(1, int(0.005 / max(once, 1e-7)))
    repeats = max(5, min(200, int(budget / max(once * inner, 1e-6))))
    samples = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(inner):
            step()
        sync(); samples.append((time.perf_counter() - start) / inner)
    return sorted(samples)[len(samples) // 2]


def bench(args, mode, name, width, depth, image, batch):
    make, channels = NETWORKS[name]
    device = args.device
    tf32 = 'tf32' in mode
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    if 'compile' in mode:
        torch.compiler.reset()
    net = make(width, depth, image, channels).to(device)
    x = torch.randn(batch, channels, image, image, device=device)
    if 'cl' in mode:
        net = net.to(memory_format=torch.channels_last)
        x = x.to(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (batch,), device=device)
    host_x, host_y = torch.randn(batch, channels, image, image), torch.randint(0, 10, (batch,))
    host_top, host_loss = torch.empty(batch, dtype=torch.int64), torch.empty(())
    if device == 'cuda':
        host_x, host_y, host_top, host_loss = (t.pin_memory() for t in (host_x, host_y, host_top, host_loss))
    top, last_loss = torch.zeros(batch, dtype=torch.int64, device=device), torch.zeros((), device=device)
    parameters = list(net.parameters())
    optimiser = torch.optim.SGD(parameters, lr=1e-3, fused=(device == 'cuda') or None)
    if 'compile' in mode:
        net = torch.compile(net, dynamic=False)
    sync = torch.cuda.synchronize if device == 'cuda' else (lambda: None)

    def train():
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimiser.step()
        if args.copy:
            last_loss.copy_(loss.detach())

    def classify():
        with torch.no_grad():
            torch.argmax(net(x), 1, out=top)

    steps = {'train': train, 'classify': classify}
    if 'graph' in mode:
        for phase, step in list(steps.items()):
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(3):
                    step()
            torch.cuda.current_stream().wait_stream(side)
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
            steps[phase] = graph.replay
    for phase, step in steps.items():
        run = step
        if args.copy:
            def run(step=step, phase=phase):
                x.copy_(host_x, non_blocking=True)
                if phase == 'train':
                    y.copy_(host_y, non_blocking=True)
                step()
                (host_loss if phase == 'train' else host_top).copy_(last_loss if phase == 'train' else top, non_blocking=True)
                sync()
        t = median_seconds(run, sync, args.budget)
        print(f'{device},{args.threads},{mode}{"+copy" if args.copy else ""},{name},{width},{depth},{image},'
              f'{batch},{phase},{t:.9g},{batch / t:.6g}', flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('device', choices=['cpu', 'cuda'])
    p.add_argument('--threads', type=int, default=1)
    p.add_argument('--networks', default='lenet5')
    p.add_argument('--widths', default='1')
    p.add_argument('--depths', default='1')
    p.add_argument('--images', default='32')
    p.add_argument('--batches', default='128')
    p.add_argument('--modes', default='eager')
    p.add_argument('--budget', type=float, default=0.3, help='seconds of samples per row')
    p.add_argument('--copy', action='store_true')
    args = p.parse_args()
    torch.set_num_threads(args.threads)
    where = torch.cuda.get_device_name() if args.device == 'cuda' else torch.backends.cpu.get_cpu_capability()
    print('# torch', torch.__version__, where)
    print('device,threads,mode,network,width,depth,image,batch,phase,seconds_per_step,images_per_s')
    integers = lambda text: [int(v) for v in text.split(',')]
    for mode in args.modes.split(','):
        for name in args.networks.split(','):
            for batch in integers(args.batches):
                for width in integers(args.widths):
                    for depth in integers(args.depths):
                        for image in integers(args.images):
                            try:
                                bench(args, mode, name, width, depth, image, batch)
                            except Exception as error:
                                print(f'# failed {mode} {name} w{width} d{depth} i{image} b{batch}: {str(error)[:150]}')


main()
