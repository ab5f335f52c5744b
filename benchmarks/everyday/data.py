"""Pipelines of examples. JAX has none, so that it takes no part."""

from __future__ import annotations

import numpy as np

from benchmarks.everyday.case import Custom, workload
from benchmarks.everyday.modules import F, nt, torch
from benchmarks.everyday.networks import Epoch, torch_mlp


class Pipeline(Custom):
    """Sums over the batches of an epoch."""

    def inputs(self, rng, n, features):
        return [rng.random((n, features)), rng.integers(10, size=n)]

    def numtape(self, decorate, x, y):
        nt.random.set_seed(1)
        batches = self.numtape_batches(nt.data.Dataset.from_tensor_slices((x, y)))
        add = decorate(lambda total, x, y: total + nt.reduce_sum(x))

        def step():
            total = nt.zeros((), nt.float64)
            for x, y in batches:
                total = add(total, x, y)
            return float(total)

        return step

    def torch(self, x, y):
        torch.manual_seed(1)
        batches = self.torch_batches(torch.from_numpy(x), torch.from_numpy(y))

        def step():
            total = torch.zeros((), dtype=torch.float64)
            for x, _ in batches:
                total = total + x.sum()
            return total.item()

        return step


@workload(tiny=(70, 3), shuffle_batch_2048=(2048, 32))
class ShuffleBatch(Pipeline):
    """Shuffled batches of 32."""

    def numtape_batches(self, dataset):
        return dataset.shuffle(2048).batch(32)

    def torch_batches(self, x, y):
        dataset = torch.utils.data.TensorDataset(x, y)
        return torch.utils.data.DataLoader(dataset, 32, shuffle=True)


@workload(tiny=(70, 3), map_batch_2048=(2048, 32))
class MapBatch(Pipeline):
    """A function of each example, then batches."""

    def numtape_batches(self, dataset):
        return dataset.map(lambda x, y: (x * 2.0 - 1.0, y)).batch(32)

    def torch_batches(self, x, y):
        class Mapped(torch.utils.data.Dataset):
            def __len__(self):
                return len(x)

            def __getitem__(self, k):
                return x[k] * 2.0 - 1.0, y[k]

        return torch.utils.data.DataLoader(Mapped(), 32)


@workload(tiny=(70, 3), batch_map_2048=(2048, 32))
class BatchMap(Pipeline):
    """Batches, then a function of each batch, and prefetching."""

    def numtape_batches(self, dataset):
        return dataset.batch(32).map(lambda x, y: (x * 2.0 - 1.0, y)).prefetch(2)

    def torch_batches(self, x, y):
        dataset = torch.utils.data.TensorDataset(x, y)

        def collate(examples):
            x, y = torch.utils.data.default_collate(examples)
            return x * 2.0 - 1.0, y

        return torch.utils.data.DataLoader(dataset, 32, collate_fn=collate)


@workload(tiny=(70, 4, 5, 3), fit_dataset_64_batches=(2048, 32, 64, 64, 10))
class FitDataset(Epoch):
    """An epoch of ``fit`` from a shuffled pipeline. The orders differ, and so do the losses."""

    tolerance = 0.1

    def numtape(self, decorate, *arrays):
        *weights, x, y = arrays
        nt.random.set_seed(1)
        model = self.keras_model(decorate, weights)
        batches = nt.data.Dataset.from_tensor_slices((x, y)).shuffle(2048).batch(32)
        return lambda: model.fit(batches, verbose=0).history["loss"][0]

    def torch(self, *arrays):
        *weights, x, y = arrays
        torch.manual_seed(1)
        model = torch_mlp(weights)
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, eps=1e-7)
        dataset = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
        batches = torch.utils.data.DataLoader(dataset, 32, shuffle=True)

        def step():
            total = 0.0
            for x, y in batches:
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item() * len(x)
            return np.float64(total / len(dataset))

        return step
