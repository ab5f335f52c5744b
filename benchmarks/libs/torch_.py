"""PyTorch, eager."""

from __future__ import annotations

import torch

from benchmarks.inputs import Chain, Data, Formula, Network
from benchmarks.libs import Variant


def _chain(data: Chain, compiled: bool) -> Variant:
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

    return Variant(step)


def network(data: Network, device: str = "cpu", compiled: bool = False) -> Variant:
    """Steps of training, whose losses need not have been waited for."""
    x, target = (torch.from_numpy(a).to(device) for a in (data.x, data.target))
    activation = {"tanh": torch.nn.Tanh, "relu": torch.nn.ReLU}[data.activation]
    layers: list[torch.nn.Module] = []
    for kernel in data.weights[::2]:
        layers += [torch.nn.Linear(*kernel.shape), activation()]
    model = torch.nn.Sequential(*layers[:-1]).to(device)
    parameters = list(model.parameters())
    with torch.no_grad():
        for parameter, w in zip(parameters, data.weights, strict=True):
            parameter.copy_(torch.from_numpy(w.T))  # Linear keeps (outputs, inputs)
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

    return Variant(step, lambda: [p.detach().cpu().numpy().T.copy() for p in parameters])


def _network(data: Network, compiled: bool) -> Variant:
    advancing = network(data, compiled=compiled)
    return Variant(lambda: advancing.step().item(), advancing.weights)


def _formula(data: Formula, compiled: bool) -> Variant:
    inputs = [torch.tensor(x, requires_grad=True) for x in data.inputs]

    def value_of(*inputs: torch.Tensor) -> torch.Tensor:
        return data.function(torch, *inputs)

    if compiled:
        value_of = torch.compile(value_of)

    def step() -> list[torch.Tensor]:
        value = value_of(*inputs)
        gradients = torch.autograd.grad(value, inputs, torch.ones_like(value))
        return [value.detach(), *gradients]

    return Variant(step)


def variant(data: Data, compiled: bool) -> Variant | None:
    """One way to run a case's step, or None if it is of no known kind."""
    if isinstance(data, Chain):
        return _chain(data, compiled)
    if isinstance(data, Network):
        return _network(data, compiled)
    if isinstance(data, Formula):
        return _formula(data, compiled)
    return None


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    found = variant(data, compiled=False)
    return {"PyTorch": found} if found else {}
