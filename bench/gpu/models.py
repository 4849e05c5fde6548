#!/usr/bin/env python3
"""Well-known models as people really run them, on one GPU: programs that nobody wrote for hostprobe.

Prints "step_us MEAN" of the steps behind the first fifth, or of a token.

  trainer    GPT-2 under the Trainer of transformers, in bfloat16, the loss logged every 10th step
  resnet     ResNet-50 of torchvision; eight workers crop and flip images (--workers)
  generate   tokens of GPT-2 by generate(), greedy, without a graph
  lightning  an autoencoder under Lightning's Trainer, small batches

examples:
  bench/gpu/models.py trainer
  bench/gpu/models.py resnet --workers 1
"""

import argparse
import os
import sys
import tempfile
import time

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


class Clock:
    """Prints the mean of what came behind the first fifth."""

    def __init__(self, count):
        self.count, self.done = count, 0

    def step(self):
        self.done += 1
        if self.done == self.count // 5:
            self.begin = self.now()
        if self.done == self.count:
            print(f"step_us {(self.now() - self.begin) / (self.count - self.count // 5) * 1e6:.1f}", flush=True)

    def now(self):
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()


def gpt2(layers):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_layer=layers))


def trainer(options):
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Steps(TrainerCallback):
        clock = Clock(options.steps)

        def on_step_end(self, *_, **__):
            self.clock.step()

    tokens = torch.randint(0, 50000, (options.steps * 8, 512), generator=torch.Generator().manual_seed(1))
    samples = [{"input_ids": line, "labels": line} for line in tokens]
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(output_dir=folder, per_device_train_batch_size=8, max_steps=options.steps, logging_steps=10,
                                      bf16=DEVICE == "cuda", save_strategy="no", report_to=[], disable_tqdm=True)
        Trainer(model=gpt2(12), args=arguments, train_dataset=samples, callbacks=[Steps()]).train()


class Images(torch.utils.data.Dataset):
    """Photographs of 500 x 375 points, decoded already; what is left to do is what ImageNet's training does."""

    def __init__(self, count):
        from torchvision.transforms import v2
        self.count = count
        self.image = torch.randint(0, 255, (3, 375, 500), dtype=torch.uint8)
        self.change = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip(),
                                  v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        return self.change(self.image), number % 1000


def resnet(options):
    from torchvision.models import resnet50
    model = resnet50().to(DEVICE, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loader = torch.utils.data.DataLoader(Images(options.steps * 64), batch_size=64, num_workers=options.workers, pin_memory=DEVICE == "cuda")
    clock = Clock(options.steps)
    for images, labels in loader:
        images, labels = images.to(DEVICE, non_blocking=True, memory_format=torch.channels_last), labels.to(DEVICE, non_blocking=True)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        clock.step()


def generate(options):
    model = gpt2(12).to(DEVICE, dtype=torch.bfloat16).eval()
    prompt = torch.randint(0, 50000, (4, 64), device=DEVICE)
    count = options.steps
    for _ in range(2):  # the second one counts
        begin = time.perf_counter()
        with torch.inference_mode():
            model.generate(prompt, max_new_tokens=count, min_new_tokens=count, do_sample=False, pad_token_id=0)
        seconds = time.perf_counter() - begin
    print(f"step_us {seconds / count * 1e6:.1f}")


def lightning(options):
    import lightning as pl

    class Coder(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 32), torch.nn.ReLU(),
                                           torch.nn.Linear(32, 256), torch.nn.ReLU(), torch.nn.Linear(256, 784))
            self.clock = Clock(options.steps)

        def training_step(self, batch, _):
            loss = torch.nn.functional.mse_loss(self.net(batch[0]), batch[0])
            self.log("loss", loss)
            return loss

        def on_train_batch_end(self, *_):
            self.clock.step()

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=1e-3)

    samples = torch.utils.data.TensorDataset(torch.randn(options.steps * 128, 784))
    with tempfile.TemporaryDirectory() as folder:
        pl.Trainer(max_steps=options.steps, accelerator="gpu" if DEVICE == "cuda" else "cpu", devices=1, logger=False, default_root_dir=folder,
                   enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False).fit(
            Coder(), torch.utils.data.DataLoader(samples, batch_size=128, num_workers=2))


MODELS = {"trainer": (trainer, 100), "resnet": (resnet, 80), "generate": (generate, 200), "lightning": (lightning, 1500)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--steps", type=int, help="or tokens (as many as take some seconds on an H200)")
    parser.add_argument("--workers", type=int, default=8, help="of resnet's loader (default 8)")
    options = parser.parse_args()
    run, steps = MODELS[options.model]
    options.steps = options.steps or steps
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    run(options)


if __name__ == "__main__":
    sys.exit(main())
