"""The stream of random bits that is the same on every machine, and how numbers are made of it.

The bits come from Philox 4x64, a counter-based generator. Floats are made of them by exact arithmetic; normal numbers
by Wichura's inversion of the normal distribution (AS 241, 1988), with a logarithm made of IEEE operations, because the
system's own differs in the last bits from one system to another.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lucid.errors import DTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Wide = NDArray[np.float64]

__all__ = [
    "Generator",
    "GeneratorState",
    "default_generator",
    "fork",
    "get_state",
    "initial_seed",
    "inverse_normal",
    "manual_seed",
    "natural_log",
    "set_state",
]

_BLOCK = 1 << 18  # numbers made at a time, so that their float64 steps stay in the cache


@dataclass(frozen=True)
class GeneratorState:
    """Where a generator stands: its seed, and how many 64-bit numbers it has given since it was seeded."""

    seed: int
    position: int


class Generator:
    """A stream of random numbers. `draws` counts the calls that took numbers, whatever the state is set to."""

    def __init__(self, seed: int = 0) -> None:
        self.draws = 0
        self.manual_seed(seed)

    def manual_seed(self, seed: int) -> Generator:
        """Begin the stream of `seed` (an integer from 0 to 2**64 - 1), and return the generator."""
        if not 0 <= seed < 1 << 64:
            raise DTypeError(f"manual_seed: the seed is {seed}. Use an integer from 0 to 2**64 - 1.")
        self.set_state(GeneratorState(seed, 0))
        return self

    def initial_seed(self) -> int:
        """Return the seed of the stream."""
        return self._seed

    def get_state(self) -> GeneratorState:
        """Return where the generator stands."""
        return GeneratorState(self._seed, self._position)

    def set_state(self, state: GeneratorState) -> None:
        """Go on from a state that :meth:`get_state` gave."""
        self._seed, self._position = state.seed, state.position
        self._bits = np.random.Philox(key=state.seed)
        self._bits.advance(state.position // 4)  # the generator makes four numbers per step of its counter
        self._bits.random_raw(state.position % 4)

    def raw(self, count: int) -> NDArray[np.uint64]:
        """Return `count` numbers of 64 random bits."""
        self.draws += 1
        self._position += count
        bits: NDArray[np.uint64] = self._bits.random_raw(count)
        return bits

    def uniform(self, count: int) -> NDArray[np.float32]:
        """Return `count` float32 numbers from [0, 1): multiples of 2**-24, all equally likely."""
        return (self.raw(count) >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-24)

    def normal(self, count: int) -> NDArray[np.float32]:
        """Return `count` float32 numbers of the standard normal distribution, correctly rounded but for rare ties."""
        bits = self.raw(count)
        result = np.empty(count, np.float32)
        for start in range(0, count, _BLOCK):
            part = bits[start : start + _BLOCK]
            result[start : start + _BLOCK] = inverse_normal(
                ((part >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
            )
        return result


_default: ContextVar[Generator] = ContextVar("lucid_generator", default=Generator())  # noqa: B039 -- shared on purpose


def default_generator() -> Generator:
    """Return the generator that functions use when they are given none."""
    return _default.get()


def manual_seed(seed: int) -> Generator:
    """Seed the default generator, and return it."""
    return default_generator().manual_seed(seed)


def initial_seed() -> int:
    """Return the default generator's seed."""
    return default_generator().initial_seed()


def get_state() -> GeneratorState:
    """Return where the default generator stands."""
    return default_generator().get_state()


def set_state(state: GeneratorState) -> None:
    """Let the default generator go on from a state that :func:`get_state` gave."""
    default_generator().set_state(state)


@contextmanager
def fork(seed: int | None = None) -> Iterator[Generator]:
    """Inside, a copy of the default generator is used (seeded anew, if `seed` is given); outside, nothing is drawn."""
    inner = Generator()
    inner.set_state(get_state() if seed is None else GeneratorState(seed, 0))
    token = _default.set(inner)
    try:
        yield inner
    finally:
        _default.reset(token)


def _polynomial(x: Wide, *coefficients: float) -> Wide:
    """Return the polynomial whose coefficients are given from the constant upwards (Horner's scheme)."""
    result = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result *= x
        result += coefficient
    return result


def natural_log(x: Wide) -> Wide:
    """Return the natural logarithm of positive numbers, by IEEE operations alone, to about 2e-16 relative."""
    fraction, exponent = np.frexp(x)
    is_low = fraction < 0.7071067811865476
    fraction = np.where(is_low, fraction * 2.0, fraction)
    exponent = exponent - is_low
    ratio = (fraction - 1.0) / (fraction + 1.0)
    series = _polynomial(ratio * ratio, *(2.0 / (2 * term + 1) for term in range(13)))
    return ratio * series + exponent * 0.6931471805599453


def inverse_normal(probability: Wide) -> Wide:
    """Return the numbers below which a standard normal number falls with the given probabilities, in (0, 1)."""
    q = probability - 0.5
    r = 0.180625 - q * q
    result = q * _polynomial(r, *_CENTRE[0]) / _polynomial(r, *_CENTRE[1])
    is_tail = np.abs(q) > 0.425
    below = probability[is_tail]
    r = np.sqrt(-natural_log(np.minimum(below, 1.0 - below)))
    near = r - 1.6
    tail = _polynomial(near, *_SHOULDER[0]) / _polynomial(near, *_SHOULDER[1])
    is_far = r > 5.0
    far = r[is_far] - 5.0
    tail[is_far] = _polynomial(far, *_TAIL[0]) / _polynomial(far, *_TAIL[1])
    result[is_tail] = np.where(below < 0.5, -tail, tail)
    return result


_CENTRE = (
    (
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ),
    (
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ),
)
_SHOULDER = (
    (
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_TAIL = (
    (
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)
