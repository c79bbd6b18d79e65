"""Continue a prompt with a built package alone: no source model, only the package and the tokenizer.

lucid build specs/smollm2.toml
python examples/generate.py "The capital of France is"
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from smollm2_weights import tokenizer

import lucid.coreml as cml


def generate(package: cml.Package, prompt: list[int], count: int) -> Iterator[int]:
    """Yield up to `count` tokens after `prompt`, each the likeliest next one, until the context is full.

    Raises ValueError for an empty prompt, or one that leaves no room in the context.
    """
    (context,) = {feature.shape[-2] for feature in package.model.states}
    if not 0 < len(prompt) < context:
        raise ValueError(f"the prompt has {len(prompt)} tokens; give 1 to {context - 1}, the package's context.")
    state = package.make_state()
    tokens = list(prompt)
    for position in range(min(context, len(prompt) + count - 1)):
        call = {"token": np.array([[tokens[position]]], np.int32), "position": np.array([position], np.int32)}
        logits = package.run(call, state)["logits"]
        if position >= len(prompt) - 1:
            tokens.append(int(logits[0, 0].argmax()))
            yield tokens[-1]


def main() -> None:
    """Read the command line, print the continuation as it grows, and how fast that was."""
    parser = argparse.ArgumentParser(description="Continue a prompt with SmolLM2.")
    parser.add_argument("prompt", help="the text to continue")
    parser.add_argument(
        "--package", type=Path, default=Path("build/smollm2/smollm2.mlpackage"), help="what `lucid build` made"
    )
    parser.add_argument("--tokens", type=int, default=24, metavar="N", help="how many tokens at most (24)")
    arguments = parser.parse_args()
    words = tokenizer()
    prompt = words.encode(arguments.prompt).ids
    with cml.load(arguments.package) as package:
        print(arguments.prompt, end="", flush=True)
        started, shown, tokens = time.perf_counter(), "", []
        for token in generate(package, prompt, arguments.tokens):
            tokens.append(token)
            text = words.decode(tokens)
            if not text.endswith("\ufffd"):  # the rest of a character is still to come
                print(text[len(shown) :], end="", flush=True)
                shown = text
        seconds = time.perf_counter() - started
    print(flush=True)
    rate = (len(prompt) + len(tokens) - 1) / seconds
    print(f"[{len(tokens)} tokens after {len(prompt)}, {rate:.1f} calls a second]", file=sys.stderr)


if __name__ == "__main__":
    main()
