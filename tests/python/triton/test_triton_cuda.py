# SPDX-License-Identifier: Apache-2.0
"""install(map_cuda=True): scripts that say "cuda" run, and their tensors say so too."""

import numpy
import pytest
import torch
import triton
import triton.language as tl
from triton_kernels import add

import lockwarp.triton as lt


@pytest.fixture
def mapped():
    lt.install(arch="sm_80", map_cuda=True)
    yield
    lt.uninstall()


def test_kernels_run_on_what_is_said_to_be_on_cuda(mapped):
    x = torch.ones(8, device="cuda")
    y = torch.ones(8).cuda()
    z = torch.empty_like(x).to("cuda:0")
    assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (8, 0)
    add[(1,)](x, y, z, 8, BLOCK=8)
    torch.cuda.synchronize()
    assert z.cpu().tolist() == [2.0] * 8


def test_a_tensor_of_another_type_of_tritons(mapped):
    x = torch.ones(8, device="cuda", dtype=torch.int32)
    add[(1,)](triton.reinterpret(x, tl.uint32), x, triton.reinterpret(x, tl.uint32), 8, BLOCK=8)
    assert x.tolist() == [2] * 8


def test_a_handle_of_cublas(mapped):
    nvidia = pytest.importorskip("triton._C.libtriton").nvidia
    handle = nvidia.cublas.CublasLt(torch.empty(1024, device="cuda", dtype=torch.uint8))
    a = torch.randn(16, 8, device="cuda").half()
    b = torch.randn(4, 8, device="cuda").half()
    c = torch.empty(16, 4, device="cuda", dtype=torch.float16)
    handle.matmul(a, b, c)
    assert torch.equal(c, (a.float() @ b.float().T).half())
    d = torch.empty_like(c)
    handle.gemm(a, b, c, d, 2.0, -1.0)
    assert torch.equal(d, (2 * (a.float() @ b.float().T) - c.float()).half())
    with pytest.raises(NotImplementedError, match="block_scaled_matmul_mxfp8 is machine code"):
        handle.block_scaled_matmul_mxfp8(a, b, c, a, b)


def test_generators(mapped):
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert isinstance(generator, torch.Generator)
    assert torch.randn(2, device="cuda", generator=generator).shape == (2,)


def test_the_accelerator_is_cuda(mapped):
    accelerator = pytest.importorskip("torch.accelerator")
    assert accelerator.is_available() and accelerator.device_count() == 1
    assert accelerator.current_accelerator() == torch.device("cuda")
    assert accelerator.current_device_index() == 0
    accelerator.synchronize()
    state = torch.cuda.get_rng_state()
    first = torch.randn(2, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.randn(2, device="cuda"), first)


def test_what_is_followed_by_its_shape_alone(mapped):
    from torch._subclasses.fake_tensor import FakeTensorMode

    x, here = torch.ones(4, 4, device="cuda"), torch.ones(4)
    assert x.to("meta").device.type == "meta" and not x.to("meta").is_cuda
    assert torch.empty_like(x, device="meta").is_meta
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fake = mode.from_tensor(x)
        for t in (fake, fake @ x, torch.empty(3, device="cuda"), torch.empty_like(fake)):
            assert t.device == torch.device("cuda", 0) and t.is_cuda and not t.is_cpu
        assert mode.from_tensor(here).device.type == "cpu"
    assert fake.device.type == "cuda" and x.is_cuda and not here.is_cuda


def test_operators_that_take_a_device_by_position(mapped):
    from torch._inductor import inductor_prims

    seeds = inductor_prims.seeds(3, torch.device("cuda", 0))
    assert seeds.is_cuda and seeds.shape == (3,)
    assert not inductor_prims.seeds(3, torch.device("cpu")).is_cuda


def test_what_torch_would_compile_is_as_it_was(mapped):
    @torch.compile
    def twice(x):
        return 2 * x

    @torch.compile(dynamic=True, fullgraph=True)
    def more(x):
        return x + 1

    out = more(twice(torch.ones(3, device="cuda")))
    assert out.is_cuda and out.tolist() == [3.0] * 3
    linear = torch.compile(torch.nn.Linear(4, 4, device="cuda"))
    assert linear(torch.ones(4, device="cuda")).is_cuda


def test_tensors_say_where_they_would_be(mapped):
    cuda = torch.device("cuda", 0)
    x, here = torch.ones(4, 4, device="cuda"), torch.ones(4)
    for t in (x, x + 1, x[1:], x.T.contiguous(), x @ x, torch.cat([x, x]), here.cuda(), here.to(0),
              here.to("cuda:0", torch.float16), here.to(x), torch.zeros(2, device=x.device),
              torch.tensor([1], device="cuda"), x.sum(0, keepdim=True), *x.split(2),
              torch.nn.Parameter(x), torch.as_tensor(numpy.ones(2), device="cuda"),
              torch.nn.functional.softmax(x, 0), torch.rand_like(x)):
        assert t.is_cuda and not t.is_cpu and t.device == cuda and t.get_device() == 0
        assert t.device.type == "cuda"
    for t in (here, here * 2, x.cpu(), x.to("cpu"), torch.from_numpy(numpy.ones(3)),
              torch.zeros(2, device=here.device), x.to(here), torch.empty_like(x, device="cpu")):
        assert not t.is_cuda and t.is_cpu and t.device == torch.device("cpu")


def test_what_moves_between_devices_is_a_copy(mapped):
    array = numpy.zeros(4, numpy.float32)
    here = torch.from_numpy(array)
    there = here.cuda()
    kept = there.cpu()
    also = torch.as_tensor(array, device="cuda")
    there += 1
    also += 2
    assert array.tolist() == here.tolist() == kept.tolist() == [0.0] * 4
    assert there.to("cuda") is there and there.cuda() is there and here.cpu() is here
    here.copy_(there)
    assert not here.is_cuda and here.tolist() == [1.0] * 4


def test_modules_and_gradients(mapped):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            out = torch.empty(x.shape, device="cuda")
            add[(1,)](x.detach(), x.detach(), out, x.numel(), BLOCK=8)
            return out

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            assert x.is_cuda and gradient.is_cuda
            out = torch.zeros(x.shape, device="cuda")
            add[(1,)](gradient, gradient, out, x.numel(), BLOCK=8)
            return out

    linear = torch.nn.Linear(8, 1, bias=False)
    assert not linear.weight.is_cuda
    linear.to("cuda")
    assert linear.weight.is_cuda and isinstance(linear.weight, torch.nn.Parameter)
    x = torch.ones(8, device="cuda", requires_grad=True)
    linear(Twice.apply(x)).sum().backward()
    assert x.grad.is_cuda
    assert torch.equal(x.grad, 2 * linear.weight[0].detach())


def test_default_device(mapped):
    torch.set_default_device("cuda")
    try:
        assert torch.ones(3).is_cuda and torch.get_default_device().type == "cuda"
        with torch.device("cpu"):
            assert not torch.ones(3).is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.ones(3).is_cuda
    with torch.device("cuda"):
        assert torch.ones(3).is_cuda


def test_tritons_own_device_is_the_tensors(mapped):
    device = triton.runtime.driver.active.get_active_torch_device()
    x = torch.rand(4, device=device)
    assert x.device.type == device.type == "cuda"


def test_it_ends():
    lt.install(arch="sm_80", map_cuda=True)
    x = torch.ones(1, device="cuda")
    lt.uninstall()
    assert not x.is_cuda and not torch.ones(1).is_cuda and x.device.type == "cpu"


def test_storages_that_are_gone_are_forgotten(mapped):
    for _ in range(3000):
        torch.ones(16, device="cuda")
    assert not any(torch.ones(16).is_cuda for _ in range(100))
