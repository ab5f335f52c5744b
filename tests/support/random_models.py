"""Random models of Keras layers, losses, metrics and optimizers, as source for both libraries."""

import numpy as np

ROWS, BATCH = 20, 4  # five steps
SMOOTH = ["tanh", "sigmoid", "softplus", "elu", "silu", "gelu", "softsign", "linear", "mish"]

# By rank of the input without the batch: layers that keep the rank, and layers that change it.
LAYERS = {
    1: [
        "Dense({small}, {act})",
        "Dense({small}, {act}, use_bias=False)",
        "Dense({small}, kernel_regularizer='l2', bias_regularizer='l1')",
        "Dense({small}, {act}, kernel_constraint='max_norm', activity_regularizer='l2')",
        "BatchNormalization({momentum})",
        "LayerNormalization()",
        "RMSNormalization()",
        "UnitNormalization()",
        "Activation({act})",
        "ELU()",
        "LeakyReLU()",
        "PReLU()",
        "Softmax()",
        "RepeatVector({tiny})",
        "Dropout(0.0)",
        "ActivityRegularization(l2=0.1)",
        "Rescaling(0.5, 0.1)",
        "Reshape((-1, 1))",
        "Identity()",
        "GaussianNoise(0.0)",
    ],
    2: [
        "Conv1D({small}, {tiny}, padding={padding}, activation={act})",
        "Conv1D({small}, 2, padding='causal', dilation_rate=2)",
        "Conv1D({small}, 3, strides=2, padding='same')",
        "SeparableConv1D({small}, 2, padding='same', depth_multiplier=2)",
        "DepthwiseConv1D(2, padding='same', activation={act})",
        "Conv1DTranspose({small}, 3, strides={tiny}, padding={padding})",
        "MaxPooling1D(2, padding='same')",
        "AveragePooling1D(3, strides=1, padding='same')",
        "GlobalMaxPooling1D()",
        "GlobalAveragePooling1D()",
        "Flatten()",
        "SimpleRNN({small}, {act}, return_sequences={yes})",
        "LSTM({small}, return_sequences={yes}, go_backwards={yes})",
        "GRU({small}, return_sequences={yes}, reset_after={yes})",
        "Bidirectional(K.layers.LSTM({tiny}, return_sequences={yes}), merge_mode={merge})",
        "TimeDistributed(K.layers.Dense({small}, {act}))",
        "Dense({small}, {act})",
        "BatchNormalization({momentum})",
        "LayerNormalization()",
        "GroupNormalization(1)",
        "Permute((2, 1))",
        "ZeroPadding1D({tiny})",
        "UpSampling1D({tiny})",
        "SpatialDropout1D(0.0)",
        "PReLU(shared_axes=[1])",
        "Activation({act})",
        "Softmax(axis=1)",
        "Masking(0.0)",
        "EinsumDense('...x,xy->...y', {small}, activation={act}, bias_axes='y')",
    ],
    3: [
        "Conv2D({small}, {tiny}, padding='same', activation={act})",
        "Conv2D({small}, (2, 3), strides=2, padding='same', kernel_regularizer='l1')",
        "SeparableConv2D({small}, 2, padding='same')",
        "DepthwiseConv2D(2, padding='same')",
        "Conv2DTranspose({small}, 2, strides=2, padding='same', activation={act})",
        "MaxPooling2D(2, padding='same')",
        "AveragePooling2D(2, padding='same')",
        "GlobalMaxPooling2D()",
        "GlobalAveragePooling2D()",
        "Flatten()",
        "ZeroPadding2D(1)",
        "UpSampling2D(2)",
        "BatchNormalization({momentum})",
        "LayerNormalization(axis=[1, 2, 3])",
        "GroupNormalization(-1)",
        "Reshape((-1, {first}))",
        "Activation({act})",
        "Dense({small})",
        "TimeDistributed(K.layers.Flatten())",
        "UpSampling2D(2, interpolation='bilinear')",
    ],
}
JOINED = [
    "Add()",
    "Subtract()",
    "Multiply()",
    "Average()",
    "Maximum()",
    "Minimum()",
    "Concatenate()",
    "Dot(axes=-1)",
]
# By size of the last layer: its activation, losses, metrics and ground truth.
HEADS = {
    "reals": (
        "linear",
        [
            "'mse'",
            "'mae'",
            "K.losses.Huber(0.5)",
            "K.losses.LogCosh()",
            "K.losses.CosineSimilarity()",
            "K.losses.MeanSquaredError(reduction='sum')",
        ],
        [
            "'mae'",
            "'mse'",
            "K.metrics.RootMeanSquaredError()",
            "K.metrics.CosineSimilarity()",
            "K.metrics.R2Score(class_aggregation='uniform_average')",
        ],
    ),
    "positive": ("softplus", ["'msle'", "'poisson'", "'mape'"], ["'msle'", "K.metrics.Poisson()"]),
    "bits": (
        "sigmoid",
        [
            "'binary_crossentropy'",
            "K.losses.BinaryCrossentropy(label_smoothing=0.1)",
            "K.losses.BinaryFocalCrossentropy(apply_class_balancing=True)",
            "'dice'",
            "K.losses.Tversky(0.3, 0.7)",
        ],
        [
            "'accuracy'",
            "K.metrics.AUC()",
            "K.metrics.Precision()",
            "K.metrics.Recall()",
            "K.metrics.BinaryCrossentropy()",
            "K.metrics.F1Score(threshold=0.5)",
        ],
    ),
    "bits of logits": (
        "linear",
        ["K.losses.BinaryCrossentropy(from_logits=True)"],
        ["K.metrics.BinaryCrossentropy(from_logits=True)", "K.metrics.BinaryAccuracy()"],
    ),
    "signs": ("tanh", ["'hinge'", "'squared_hinge'"], ["'hinge'", "'mae'"]),
    "one hot": (
        "softmax",
        [
            "'categorical_crossentropy'",
            "'kl_divergence'",
            "'categorical_hinge'",
            "K.losses.CategoricalCrossentropy(label_smoothing=0.2)",
            "K.losses.CategoricalFocalCrossentropy()",
        ],
        [
            "'accuracy'",
            "'categorical_crossentropy'",
            "K.metrics.TopKCategoricalAccuracy(2)",
            "K.metrics.OneHotMeanIoU(3)",
            "K.metrics.F1Score(average='macro')",
        ],
    ),
    "classes": (
        "softmax",
        [
            "'sparse_categorical_crossentropy'",
            "K.losses.SparseCategoricalCrossentropy(ignore_class=1)",
        ],
        [
            "'accuracy'",
            "K.metrics.SparseTopKCategoricalAccuracy(2)",
            "K.metrics.SparseCategoricalCrossentropy()",
        ],
    ),
    "classes of logits": (
        "linear",
        ["K.losses.SparseCategoricalCrossentropy(from_logits=True)"],
        ["'accuracy'"],
    ),
}
# Without Lion and small epsilons, which turn rounding errors into full steps.
OPTIMIZERS = [
    "SGD({rate}{more})",
    "SGD({rate}, momentum=0.9{more})",
    "SGD({rate}, momentum=0.8, nesterov=True{more})",
    "Adam({rate}, epsilon=0.01{more})",
    "Adam({rate}, beta_1=0.7, epsilon=1e-3, amsgrad=True{more})",
    "AdamW({rate}, 0.1, epsilon=0.1)",
    "RMSprop({rate}, epsilon=0.01{more})",
    "Adagrad({rate}, epsilon=0.01{more})",
    "RMSprop({rate}, momentum=0.5, centered=True, epsilon=0.1{more})",
    "Adadelta({rate}, epsilon=0.01{more})",
    "Adamax({rate}, epsilon=0.01{more})",
    "Nadam({rate}, epsilon=0.01{more})",
    "Adafactor({rate}, epsilon_1=0.01{more})",
    "Ftrl({rate}, l1_regularization_strength=0.01{more})",
]
RATES = [
    "0.01",
    "0.05",
    "K.optimizers.schedules.ExponentialDecay(0.05, 2, 0.5)",
    "K.optimizers.schedules.PiecewiseConstantDecay([2], [0.05, 0.01])",
    "K.optimizers.schedules.CosineDecay(0.05, 4, warmup_target=0.1, warmup_steps=2)",
    "K.optimizers.schedules.PolynomialDecay(0.05, 3, 0.01, 2.0)",
]
MORE = [
    "",
    "",
    "",
    ", clipnorm=0.5",
    ", clipvalue=0.05",
    ", global_clipnorm=0.5",
    ", weight_decay=0.1",
    ", use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=2",
    ", gradient_accumulation_steps=2",
    ", loss_scale_factor=4.0",
]


class Model:
    """A random model and how it is trained: source text, and arrays.

    Attributes:
      lines: Statements that make ``inputs`` and ``outputs`` from ``K``, the module.
      compile: Arguments of `compile`.
    """

    def __init__(self, seed, keras):
        self.random = np.random.default_rng(seed)
        self.seed, self.scope = seed, {"K": keras}
        self.lines, self.names, self.arrays = [], [], []
        self.heads = []
        for k in range(1 + (self.random.random() < 0.25)):
            self.input(k)
        for _ in range(self.random.integers(1, 6)):
            self.layer()
        for k in range(1 + (self.random.random() < 0.2)):
            self.head(k)
        self.training()

    def one(self, choices):
        return choices[self.random.integers(len(choices))]

    def says(self, text):
        """Append a line and run it immediately. Returns whether the model is still valid."""
        try:
            exec(text, self.scope)
        except ValueError:
            return False
        shape = self.scope[text.split()[0]].shape
        if 0 in shape or None in shape[1:]:
            return False
        self.lines.append(text)
        return True

    def shape(self, name):
        return tuple(self.scope[name].shape[1:])

    def input(self, k):
        shape = self.one([(3,), (5,), (4, 3), (6, 2), (5, 4, 2), ()])
        name = f"x{k}"
        if shape:
            self.arrays.append(self.random.normal(size=(ROWS, *shape)).astype("float32"))
            self.says(f"{name} = K.Input({shape})")
        else:
            self.arrays.append(self.random.integers(0, 5, (ROWS, 4)).astype("int32"))
            masked = bool(self.random.integers(2))
            self.says(f"{name}_ids = K.Input((4,), dtype='int32')")
            self.says(f"{name} = K.layers.Embedding(5, 3, mask_zero={masked})({name}_ids)")
        self.names.append(name)

    def layer(self):
        """Append a layer, or one that joins two tensors."""
        x = self.one(self.names[-2:])
        name = f"y{len(self.lines)}"
        alike = [y for y in self.names if self.shape(y) == self.shape(x)]
        if self.random.random() < 0.25 and (len(alike) > 1 or len(self.shape(x)) == 2):
            y = self.one(alike)
            text = self.one(JOINED)
            if len(self.shape(x)) == 2 and self.random.random() < 0.5:
                text = self.one(["Attention(use_scale=True)", "AdditiveAttention()"])
                masked = any("mask_zero=True" in line for line in self.lines)
                if self.random.random() < 0.5 and not masked:  # masks are handled differently there
                    done = self.says(f"{name} = K.layers.MultiHeadAttention(2, 2)({x}, {y})")
                    self.names += [name] * done
                    return
            text = f"{name} = K.layers.{text}([{x}, {y}])"
        else:
            text = self.one(LAYERS[len(self.shape(x))]).format(
                small=self.random.integers(2, 5),
                tiny=self.random.integers(1, 4),
                act=repr(self.one(SMOOTH)),
                padding=repr(self.one(["same", "valid"])),
                yes=self.one([True, False]),
                merge=repr(self.one(["sum", "concat", "ave", "mul"])),
                momentum=f"momentum={self.one([0.9, 0.5])}",
                first=self.shape(x)[-1],
            )
            text = f"{name} = K.layers.{text}({x})"
        if self.says(text):
            if 0 < len(self.shape(name)) < 4 and np.prod(self.shape(name)) <= 200:
                self.names.append(name)

    def head(self, k):
        kind = self.one([*HEADS])
        activation, losses, metrics = HEADS[kind]
        x = self.names[-1 - k] if len(self.names) > k else self.names[-1]
        if len(self.shape(x)) > 1:
            flat = f"flat{k}"
            layer = self.one(["Flatten", f"GlobalAveragePooling{len(self.shape(x)) - 1}D"])
            self.says(f"{flat} = K.layers.{layer}()({x})")
            x = flat
        size = 3 if kind.startswith(("one", "classes")) else self.one([1, 2])
        self.says(f"out{k} = K.layers.Dense({size}, {activation!r}, name='out{k}')({x})")
        wanted = {
            "reals": self.random.normal(size=(ROWS, size)),
            "positive": self.random.uniform(0.5, 2.0, (ROWS, size)),
            "bits": self.random.integers(0, 2, (ROWS, size)),
            "signs": 2 * self.random.integers(0, 2, (ROWS, size)) - 1,
            "one": np.eye(3)[self.random.integers(0, 3, ROWS)],
            "classes": self.random.integers(0, 3, ROWS),
        }[kind.split()[0]]
        self.heads.append(
            (
                wanted.astype("int32" if kind.startswith("c") else "float32"),
                self.one(losses),
                self.one(metrics),
            )
        )

    def training(self):
        """The arguments of `compile` and `fit`."""
        sparse = any("Embedding" in line for line in self.lines)
        optimizer = self.one(OPTIMIZERS[:1] if sparse else OPTIMIZERS).format(
            rate=self.one(RATES), more="" if sparse else self.one(MORE)
        )
        losses, metrics = ([head[k] for head in self.heads] for k in (1, 2))
        given = {"optimizer": f"K.optimizers.{optimizer}", "loss": f"[{', '.join(losses)}]"}
        measured = [f"[{metric}]" if self.random.random() < 0.8 else "[]" for metric in metrics]
        key = "weighted_metrics" if self.random.random() < 0.3 else "metrics"
        given[key] = f"[{', '.join(measured)}]"
        if len(losses) > 1 and self.random.random() < 0.5:
            given["loss_weights"] = "[0.3, 0.7]"
        elif len(losses) == 1:
            given["loss"], given[key] = losses[0], measured[0]
        self.compile = ", ".join(f"{name}={text}" for name, text in given.items())
        self.how = str(self.one(["fit", "fit", "batches", "tape"]))
        self.weights = None
        if self.random.random() < 0.3:
            self.weights = self.random.uniform(0.2, 2.0, ROWS).astype("float32")

    @property
    def source(self):
        names = [line.split()[0] for line in self.lines if "K.Input(" in line]
        outs = [f"out{k}" for k in range(len(self.heads))]
        made = f"model = K.Model([{', '.join(names)}], [{', '.join(outs)}])"
        if len(names) == len(outs) == 1:
            made = f"model = K.Model({names[0]}, {outs[0]})"
        return "\n".join([*self.lines, made, f"model.compile({self.compile}, run_eagerly=eager)"])

    def __str__(self):
        return f"{self.source}\n# {self.how}, weights: {self.weights is not None}"

    def results(self, library, nudge=0.0):
        """A library's results by name, with weights perturbed by a relative amount."""
        scope = {"K": library.keras, "eager": library.__name__ != "numtape"}  # graphs take too long
        exec(self.source, scope)
        model = scope["model"]
        random = np.random.default_rng(self.seed)
        weights = [random.normal(size=w.shape) * 0.5 * (1.0 + nudge) for w in model.weights]
        model.set_weights(
            [
                (np.abs(w) + 0.1 if "variance" in of.path else w).astype("float32")
                for w, of in zip(weights, model.weights, strict=True)
            ]
        )
        x, y = list(self.arrays), [head[0] for head in self.heads]
        x, y = (part[0] if len(x) == len(y) == 1 else part for part in (x, y))
        found = {"first": model.predict(x, verbose=0)}
        found |= getattr(self, self.how)(library, model, x, y)
        found["weights"] = model.get_weights()
        found["last"] = [z.numpy() for z in library.nest.flatten(model(x))]
        found["evaluate"] = model.evaluate(x, y, BATCH, 0, self.weights)
        return found

    def fit(self, library, model, x, y):
        history = model.fit(
            x,
            y,
            BATCH,
            1,
            0,
            shuffle=False,
            sample_weight=self.weights,
            validation_data=(x, y) if self.seed % 3 == 0 else None,
        )
        # Keras's Adafactor has unused scalars.
        kept = [v.numpy() for v in model.optimizer.variables if v.shape.rank]
        return {**history.history, "optimizer": [*kept, model.optimizer.iterations.numpy()]}

    def batches(self, library, model, x, y):
        found = {}
        for k in range(ROWS // BATCH):
            part = slice(k * BATCH, (k + 1) * BATCH)
            weights = None if self.weights is None else self.weights[part]
            found[f"batch {k}"] = model.train_on_batch(*cut(part, x, y), sample_weight=weights)
        return found

    def tape(self, library, model, x, y):
        """Custom steps, recorded."""

        def step(x, y):
            with library.GradientTape() as tape:
                loss = model.compute_loss(x, y, model(x, training=True))
                loss = model.optimizer.scale_loss(loss)
            gradients = tape.gradient(loss, model.trainable_variables)
            pairs = zip(gradients, model.trainable_variables, strict=True)
            model.optimizer.apply_gradients(pairs)
            return loss, [g for g in gradients if g is not None and "Slices" not in str(type(g))]

        found, step = {}, step if model.run_eagerly else library.function(step)
        for k in range(ROWS // BATCH):
            part = slice(k * BATCH, (k + 1) * BATCH)
            given = library.nest.map_structure(library.constant, cut(part, x, y))
            found[f"step {k}"] = [z.numpy() for z in library.nest.flatten(step(*given))]
        return found


def cut(part, x, y):
    """The slice of a batch."""
    return tuple([z[part] for z in a] if isinstance(a, list) else a[part] for a in (x, y))
