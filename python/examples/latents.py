# SPDX-License-Identifier: BSD-2-Clause
"""Keep what the training of a diffusion model computes over and over, the latents of its
images and the embeddings of its prompts, by what goes in:

    vae = cached(vae, lmdbcache.open(root, "vae"), ids=lmdbcache.key)
    encoder = cached(encoder, lmdbcache.open(root, "t5"), ids=lmdbcache.key)

The modules are small, their outputs of the sizes of real ones: a latent is
f16[16, H/8, W/8], an embedding f16[77, 1024] with a mask of its tokens.
"""

import sys
import tempfile
import time
import zlib

import lmdbcache

try:
    import torch
except ImportError:
    print("torch is not installed")
    sys.exit()

from torch import nn

from lmdbcache.torch import cached

TOKENS, WIDTH = 77, 1024

# The numbers of a batch's images, and their pixels.
Batch = tuple[range, torch.Tensor]


class Encoder(nn.Module):
    """Texts to the embeddings of their words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(1000, WIDTH)
        layers = [nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH)]
        self.layers = nn.Sequential(*layers)
        self.computed = 0

    def forward(self, prompts: list[str]) -> dict[str, torch.Tensor]:
        self.computed += len(prompts)
        words = torch.zeros(len(prompts), TOKENS, dtype=torch.long)
        for row, prompt in zip(words, prompts):
            for i, word in enumerate(prompt.split()[:TOKENS]):
                row[i] = 1 + zlib.crc32(word.encode()) % 999
        return {"hidden": self.layers(self.words(words)).half(), "mask": words > 0}


class VAE(nn.Module):
    """Images [n, 3, H, W] to latents [n, 16, H/8, W/8]."""

    def __init__(self) -> None:
        super().__init__()
        widths = [(3, 32), (32, 64), (64, 16)]
        layers = [nn.Conv2d(a, b, 3, stride=2, padding=1) for a, b in widths]
        self.layers = nn.Sequential(*layers)
        self.computed = 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.computed += len(images)
        latents: torch.Tensor = self.layers(images)
        return latents.half()


def epoch(
    vae: nn.Module, encoder: nn.Module, batches: list[Batch], captions: list[str]
) -> float:
    """Go through all images with their captions, and in each batch the empty prompt.
    Returns seconds."""
    start = time.perf_counter()
    for numbers, images in batches:
        latents = vae(images)
        prompts = encoder([captions[i] for i in numbers] + [""])
        # ... here a step of the training uses them ...
        assert latents.shape[0] == len(numbers) and prompts["mask"].shape[1] == TOKENS
    return time.perf_counter() - start


def main(root: str) -> None:
    torch.manual_seed(0)
    vae, encoder = VAE().eval(), Encoder().eval()
    sizes = [(256, 256), (192, 320), (320, 192)]
    batches = [
        (range(8 * i, 8 * i + 8), torch.rand(8, 3, *size)) for i, size in enumerate(sizes)
    ]
    animals = ["a red fox", "a grey goose", "two hares"]
    weather = ["rain", "snow"]
    captions = [f"{animals[i % 3]} in the {weather[i % 2]}" for i in range(24)]

    latents = lmdbcache.open(root, "vae", like="torch")
    embeddings = lmdbcache.open(root, "t5", like="torch")
    with latents, embeddings:
        kept_vae = cached(vae, latents, ids=lmdbcache.key)
        kept_encoder = cached(encoder, embeddings, ids=lmdbcache.key)

        with torch.no_grad():
            plain = epoch(vae, encoder, batches, captions)
        print(f"without a cache: 24 images and 27 prompts in {plain:.2f} s an epoch")
        spent = 0.0
        for number in (1, 2, 3):
            if number == 3:
                captions[:2] = ["a red fox asleep", "a grey goose in flight"]
                print("two captions are changed")
            vae.computed = encoder.computed = 0
            seconds = epoch(kept_vae, kept_encoder, batches, captions)
            spent += seconds
            print(
                f"epoch {number}: computes {vae.computed} of 24 images and "
                f"{encoder.computed} of 27 prompts in {seconds:.2f} s"
            )
        print(f"saves {3 * plain - spent:.2f} of {3 * plain:.2f} s in three epochs")

        for cache in (latents, embeddings):
            cache.flush()
            size = cache.stats()["live_bytes"] / 2**20
            print(f"{cache.module}: {len(cache)} records, {size:.1f} MiB")
        # A record is found by the text itself.
        record = embeddings[lmdbcache.key(captions[0])]
        words = int(record["mask"].sum())
        print(f"{captions[0]!r}: {words} words, {tuple(record['hidden'].shape)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        main(directory)
