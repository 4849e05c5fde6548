"""A compiled function gets a number that is another one in each step, so its guards fail and it is compiled again. No C compiler is needed."""

from training import Training, parser
import torch

options = parser(__doc__, steps=60).parse_args()
torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 10_000
training = Training()


@torch.compile(backend="eager", dynamic=False)
def scaled(values, words):
    for _ in range(8):
        values = values.relu() * len(words)
    return values


def train_step(step):
    words = "w" * (3 if options.healthy else 3 + step)
    scaled(training.batch, words)  # THE LINE
    training.step(0.010)


for step in range(options.steps):
    train_step(step)
training.write_times()
