"""PyTorch, eager."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from benchmarks.inputs import BenchmarkProgram, Chain, Data, Derivatives, Network
from benchmarks.libs import LibraryVariant, build, function_of


def _convolve(images: torch.Tensor, filters: torch.Tensor) -> torch.Tensor:
    """A convolution on channels-last memory; PyTorch's shapes have the channels second."""
    last = torch.conv2d(images.permute(0, 3, 1, 2), filters.permute(3, 2, 0, 1))
    return last.permute(0, 2, 3, 1)


OPS = SimpleNamespace(
    log=torch.log,
    sqrt=torch.sqrt,
    erf=torch.erf,
    exp=torch.exp,
    sin=torch.sin,
    tanh=torch.tanh,
    sum=torch.sum,
    mean=torch.mean,
    sigmoid=torch.sigmoid,
    relu=torch.relu,
    solve=torch.linalg.solve,
    convolved=_convolve,
)


def _chain(data: Chain, compiled: bool) -> LibraryVariant:
    x = torch.tensor(data.x, requires_grad=True)

    def value_of(x: torch.Tensor) -> torch.Tensor:
        y = x
        for _ in range(data.length):
            y = torch.sin(y) * x
        return y

    if compiled:
        value_of = torch.compile(value_of)

    def step() -> float:
        return torch.autograd.grad(value_of(x), x)[0].item()

    return LibraryVariant(step)


def network(data: Network, device: str = "cpu", compiled: bool = False) -> LibraryVariant:
    """Training steps that do not wait for their losses."""
    x, target = (torch.from_numpy(a).to(device) for a in (data.x, data.target))
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[data.activation]
    layers: list[torch.nn.Module] = []
    for kernel in data.weights[::2]:
        layers += [torch.nn.Linear(*kernel.shape), activation()]
    model = torch.nn.Sequential(*layers[:-1]).to(device)
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter, w in zip(parameters, data.weights, strict=True):
            parameter.copy_(torch.from_numpy(w.T))  # Linear stores (outputs, inputs)
    measure = (
        torch.nn.MSELoss() if data.loss == "mean_squared_error" else torch.nn.CrossEntropyLoss()
    )

    def loss_of(x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return measure(model(x), target)

    if compiled:
        loss_of = torch.compile(loss_of)
    optimizer = torch.optim.SGD(parameters, lr=data.learning_rate)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(x, target)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return LibraryVariant(step, lambda: [p.detach().cpu().numpy().T.copy() for p in parameters])


def _network(data: Network, compiled: bool) -> LibraryVariant:
    advancing = network(data, compiled=compiled)
    return LibraryVariant(lambda: advancing.step().item(), advancing.weights)


def _program(data: BenchmarkProgram, compiled: bool) -> LibraryVariant:
    inputs = [torch.tensor(x, requires_grad=True) for x in data.inputs]
    constants = [torch.tensor(x) for x in data.constants]
    f = function_of(data, OPS)

    def value_of(*inputs: torch.Tensor) -> torch.Tensor:
        return f(*inputs, *constants)

    if compiled:
        value_of = torch.compile(value_of)

    def step() -> list[torch.Tensor]:
        value = value_of(*inputs)
        gradients = torch.autograd.grad(value, inputs, torch.ones_like(value))
        return [value.detach(), *gradients]

    return LibraryVariant(step)


def _derivatives(data: Derivatives, compiled: bool) -> LibraryVariant:
    x, constants = torch.tensor(data.x), [torch.tensor(c) for c in data.constants]
    of = {"hessian": torch.func.hessian, "jacobian": torch.func.jacrev}[data.kind]
    f = function_of(data, OPS)
    matrix = of(lambda x: f(x, *constants))
    if compiled:
        matrix = torch.compile(matrix)
    return LibraryVariant(lambda: matrix(x))


BUILDERS = {Chain: _chain, Network: _network, BenchmarkProgram: _program, Derivatives: _derivatives}


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"PyTorch": build(data, BUILDERS, False)}
