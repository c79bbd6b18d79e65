"""What a module is: its members, their names, saving and loading, and how it shows itself."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import lucid
from lucid import nn
from lucid.errors import DTypeError, LoadError, UsageError
from lucid.tracing import Trace, recording


class Block(nn.Module):
    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, 2, bias=False)
        self.gain = nn.Parameter(lucid.ones(1))
        self.register_buffer("steps", lucid.zeros(1, dtype=lucid.int32))
        self.register_buffer("scratch", lucid.zeros(2), persistent=False)
        self.note = "plain"

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x).relu()) * self.gain


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(5, 3)
        self.head = nn.Linear(3, 5, bias=False)
        self.head.weight = self.embed.weight


def test_names() -> None:
    block = Block()
    assert [name for name, _ in block.named_parameters()] == ["gain", "first.weight", "first.bias", "second.weight"]
    assert [name for name, _ in block.named_buffers()] == ["steps", "scratch"]
    assert [name for name, _ in block.named_modules()] == ["", "first", "second"]
    assert [name for name, _ in block.named_children()] == ["first", "second"]
    assert next(name for name, _ in block.named_parameters("net")) == "net.gain"
    assert [name for name, _ in block.named_parameters(recurse=False)] == ["gain"]
    assert len(list(block.parameters())) == 4
    assert len(list(block.buffers())) == 2
    assert next(block.modules()) is block
    assert list(block.children()) == [block.first, block.second]
    assert block.get_submodule("first") is block.first
    assert block.get_submodule("") is block
    assert block.get_parameter("first.bias") is block.first.bias
    assert block.get_buffer("steps") is block.steps


def test_state_dict_has_pytorchs_order_of_names() -> None:
    class Theirs(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = torch.nn.Linear(3, 3)
            self.second = torch.nn.Linear(3, 2, bias=False)
            self.gain = torch.nn.Parameter(torch.ones(1))
            self.register_buffer("steps", torch.zeros(1, dtype=torch.int32))
            self.register_buffer("scratch", torch.zeros(2), persistent=False)

    assert list(Block().state_dict()) == list(Theirs().state_dict())
    assert list(Block().state_dict(prefix="a.")) == list(Theirs().state_dict(prefix="a."))


def test_setting_members() -> None:
    block = Block()
    block.gain = nn.Parameter(lucid.zeros(1))
    assert block.gain.tolist() == [0.0]
    block.steps = lucid.ones(1, dtype=lucid.int32)
    assert dict(block.named_buffers())["steps"].tolist() == [1]
    block.first = nn.Identity()
    assert [name for name, _ in block.named_parameters()] == ["gain", "second.weight"]
    block.second = None
    assert [name for name, _ in block.named_children()] == ["first"]
    block.note = nn.Parameter(lucid.ones(1))
    assert "note" in dict(block.named_parameters())
    del block.note
    assert not hasattr(block, "note")
    block.gain = None
    assert list(block.parameters()) == []
    block.late = lucid.ones(1)
    assert "late" not in block.state_dict()


def test_members_that_do_not_fit() -> None:
    block = Block()
    with pytest.raises(UsageError, match=r"gain is a parameter; cannot set it to Tensor. Wrap it: nn.Parameter"):
        block.gain = lucid.ones(1)
    with pytest.raises(UsageError, match="first is a module; cannot set it to int"):
        block.first = 3
    with pytest.raises(UsageError, match="steps is a buffer; cannot set it to list"):
        block.steps = [1]
    with pytest.raises(UsageError, match="has an attribute of that name already"):
        block.register_buffer("first", lucid.ones(1))
    with pytest.raises(UsageError, match=r"holds no '\.'"):
        block.add_module("a.b", nn.Identity())
    with pytest.raises(AttributeError, match="Block has no attribute 'missing'"):
        block.missing  # noqa: B018
    with pytest.raises(UsageError, match="has no part 'third'; it has first, second"):
        block.get_submodule("third.weight")
    with pytest.raises(UsageError, match="forward is not defined"):
        nn.Module()(1)


def test_a_forgotten_constructor() -> None:
    class Hasty(nn.Module):
        def __init__(self) -> None:
            self.weight = nn.Parameter(lucid.ones(1))

    with pytest.raises(UsageError, match=r"Call super\(\).__init__\(\) first"):
        Hasty()


def test_parameters() -> None:
    assert nn.Parameter(lucid.ones(1)).requires_grad
    assert not nn.Parameter(lucid.ones(1), requires_grad=False).requires_grad
    assert isinstance(nn.Parameter(lucid.ones(1)), lucid.Tensor)
    with pytest.raises(DTypeError, match="requires_grad=False"):
        nn.Parameter(lucid.arange(2))
    assert repr(nn.Parameter(lucid.ones(1))) == "Parameter containing:\ntensor([1.], requires_grad=True)"
    block = Block().requires_grad_(False)
    assert not any(parameter.requires_grad for parameter in block.parameters())
    block.gain.grad = lucid.ones(1)
    block.zero_grad()
    assert block.gain.grad is None


def test_training_and_evaluation() -> None:
    block = nn.Sequential(Block(), nn.Dropout(0.5))
    assert block[1].training
    assert block.eval() is block
    assert not any(module.training for module in block.modules())
    x = lucid.ones(2, 2)
    assert block[1](x) is x
    block.train()
    assert all(module.training for module in block.modules())


def test_apply_goes_from_the_parts_to_the_whole() -> None:
    seen: list[str] = []
    Block().apply(lambda module: seen.append(type(module).__name__))
    assert seen == ["Linear", "Linear", "Block"]


def test_dtypes() -> None:
    block = Block()
    weight = block.first.weight
    assert block.half() is block
    assert block.first.weight is weight
    assert {box.dtype.name for box in block.parameters()} == {"float16"}
    assert (block.steps.dtype.name, block.scratch.dtype.name) == ("int32", "float16")
    assert block(lucid.ones(1, 3).half()).dtype == lucid.float16
    assert {box.dtype.name for box in block.float().parameters()} == {"float32"}
    with pytest.raises(DTypeError, match="floating"):
        block.to(lucid.int32)


def test_a_state_dict_goes_back() -> None:
    lucid.manual_seed(1)
    one, other = Block(), Block()
    state = one.state_dict()
    one.gain.fill_(9.0)
    assert state["gain"].tolist() == [1.0]
    result = other.load_state_dict(state)
    assert result == ([], [])
    x = lucid.randn(4, 3)
    one.gain.fill_(1.0)
    assert one(x).tolist() == other(x).tolist()


def test_pytorchs_state_dict_loads() -> None:
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2)).eval()
    ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2)).eval()
    assert ours.load_state_dict(theirs.state_dict()) == ([], [])
    x = torch.randn(5, 3)
    np.testing.assert_allclose(ours(lucid.tensor(x.numpy())).numpy(), theirs(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_mismatches_are_listed_and_nothing_is_changed() -> None:
    block = Block()
    state: dict[str, Any] = dict(block.state_dict())
    before = {name: box.tolist() for name, box in state.items()}
    state["firts.weight"] = state.pop("first.weight")
    state["second.weight"] = lucid.zeros(7, 3)
    state["gain"] = lucid.tensor([5.0])
    with pytest.raises(LoadError) as caught:
        block.load_state_dict(state)
    assert str(caught.value) == (
        "Block: the state_dict does not fit the module.\n"
        "  missing: first.weight (did you mean firts.weight?)\n"
        "  unexpected: firts.weight (did you mean first.weight?)\n"
        "  not fitting:\n"
        "    second.weight: the state_dict has shape (7, 3), the module (2, 3)."
    )
    assert {name: box.tolist() for name, box in block.state_dict().items()} == before
    with pytest.raises(LoadError, match=r"second\.weight"):
        block.load_state_dict(state, strict=False)
    state["second.weight"] = lucid.zeros(2, 3)
    assert block.load_state_dict(state, strict=False) == (["first.weight"], ["firts.weight"])
    assert block.gain.tolist() == [5.0]
    with pytest.raises(LoadError, match="strict=False"):
        block.load_state_dict({})


def test_long_lists_are_cut() -> None:
    with pytest.raises(LoadError, match="and 10 more"):
        nn.Sequential(*(nn.Linear(1, 1) for _ in range(10))).load_state_dict({})


def test_values_are_cast_unless_assigned() -> None:
    layer = nn.Linear(2, 2, bias=False)
    weight = layer.weight
    halves = {"weight": np.ones((2, 2), np.float16)}
    layer.load_state_dict(halves)
    assert layer.weight.dtype == lucid.float32
    layer.load_state_dict(halves, assign=True)
    assert layer.weight.dtype == lucid.float16
    assert layer.weight is weight
    assert np.shares_memory(layer.weight.numpy(), halves["weight"])


def test_values_that_do_not_fit_int32() -> None:
    norm = nn.BatchNorm1d(2)
    state: dict[str, Any] = dict(norm.state_dict())
    state["num_batches_tracked"] = np.array(1 << 40)
    with pytest.raises(LoadError, match="num_batches_tracked: tensor: 1099511627776 does not fit int32"):
        norm.load_state_dict(state)


def test_shared_parameters_stay_shared() -> None:
    model = Tied()
    assert [name for name, _ in model.named_parameters()] == ["embed.weight"]
    assert list(model.state_dict()) == ["embed.weight", "head.weight"]
    model.load_state_dict({name: lucid.ones(5, 3) for name in model.state_dict()}, assign=True)
    assert model.head.weight is model.embed.weight
    assert model.half().head.weight.dtype == lucid.float16
    twin = copy.deepcopy(model)
    assert twin.head.weight is twin.embed.weight
    assert twin.embed.weight is not model.embed.weight
    twin.embed.weight.fill_(0.0)
    assert model.embed.weight.amax().item() == 1.0


def test_initial_values_can_be_skipped() -> None:
    generator = lucid.default_generator()
    before = generator.draws
    with nn.init.skip_init():
        model = nn.Sequential(
            nn.Linear(2000, 2000), nn.Embedding(10, 4, padding_idx=1), nn.Conv2d(2, 2, 3), nn.MultiheadAttention(8, 2)
        )
    assert generator.draws == before
    assert model[0].weight.abs().amax().item() == 0.0
    nn.Linear(2, 2)
    assert generator.draws == before + 2


def test_repr_is_pytorchs() -> None:
    def made(space: Any) -> Any:
        return space.Sequential(
            space.Linear(3, 4, bias=False),
            space.Sequential(space.Conv2d(1, 2, 3, padding=1), space.LayerNorm(4), space.Embedding(5, 3)),
            space.Dropout(0.25),
            space.BatchNorm1d(4),
            space.GroupNorm(2, 4),
            space.ConvTranspose1d(2, 4, 3, stride=2, output_padding=1, groups=2),
            space.Flatten(),
            space.Identity(),
            space.GELU(),
            space.Softmax(dim=1),
            space.ModuleDict({"a": space.ReLU(), "b": space.Tanh()}),
        )

    assert repr(made(nn)) == repr(made(torch.nn))


def test_containers() -> None:
    layers = nn.ModuleList([nn.Linear(1, 1) for _ in range(3)])
    layers.append(nn.ReLU()).extend([nn.Tanh()])
    assert len(layers) == 5
    assert type(layers[-1]).__name__ == "Tanh"
    assert [name for name, _ in layers[1:3].named_parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    layers.insert(0, nn.SiLU())
    assert [type(layer).__name__ for layer in layers] == ["SiLU", "Linear", "Linear", "Linear", "ReLU", "Tanh"]
    del layers[0]
    layers[0] = nn.Identity()
    assert list(layers.state_dict()) == ["1.weight", "1.bias", "2.weight", "2.bias"]
    with pytest.raises(IndexError, match="index 9 is out of range"):
        layers[9]
    table = nn.ModuleDict({"a": nn.Linear(1, 1)})
    table["b"] = nn.ReLU()
    assert (list(table), len(table), "a" in table) == (["a", "b"], 2, True)
    assert type(table.pop("b")).__name__ == "ReLU"
    assert list(table.state_dict()) == ["a.weight", "a.bias"]
    with pytest.raises(IndexError, match="no module 'c'; it holds a"):
        table["c"]
    chain = nn.Sequential({"double": nn.Linear(1, 1), "act": nn.ReLU()})
    assert list(chain.state_dict()) == ["double.weight", "double.bias"]
    assert chain.act is chain[1]
    assert len(chain[:1]) == 1
    with pytest.raises(UsageError, match="part 1 is function"):
        nn.Sequential(nn.ReLU(), lambda x: x)


def test_a_trace_names_operations_after_modules() -> None:
    block = Block().eval()
    x = lucid.ones(1, 3)
    trace = Trace()
    trace.add_input("x", x)
    trace.paths = {id(module): name for name, module in block.named_modules()}
    with recording(trace):
        block(x)
    assert [(node.op, node.output.name) for node in trace.nodes][:3] == [
        ("linear", "first_linear"),
        ("relu", "relu"),
        ("linear", "second_linear"),
    ]


def test_modules_are_copied_and_kept_apart() -> None:
    one = Block()
    other = copy.deepcopy(one)
    other.gain.fill_(3.0)
    other.extra = 1
    assert one.gain.tolist() == [1.0]
    assert not hasattr(one, "extra")
