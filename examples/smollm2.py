"""SmolLM2-135M-Instruct: the decoder of `decoder.py` with the real weights."""

from __future__ import annotations

from decoder import Decoder
from smollm2_weights import read_config, read_weights

from lucid import from_numpy, nn


def smollm2(context: int = 256) -> Decoder:
    """Return the decoder for sequences of up to `context` tokens."""
    config = read_config()
    with nn.init.skip_init():
        model = Decoder(
            vocabulary=config.vocabulary,
            hidden=config.hidden,
            layers=config.layers,
            heads=config.heads,
            key_value_heads=config.key_value_heads,
            feed_forward=config.feed_forward,
            context=context,
            rope_base=config.rope_base,
            epsilon=config.epsilon,
        )
    weights = {name: from_numpy(array) for name, array in read_weights().items()}
    model.load_state_dict(weights, assign=True)
    return model.eval()
