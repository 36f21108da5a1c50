"""Names of ATen's own kernels, ``at::native::vectorized_elementwise_kernel<8, …GeluCUDA…>``.

One C++ template serves many ops; which one stands in a template argument, as a functor or as the
function that holds a lambda. The sources are aten/src/ATen/native/cuda of pytorch/pytorch.
"""

from __future__ import annotations

import re

from trace_util.naming.cpp import arguments, callee, clipped, identifier
from trace_util.naming.parts import KernelName, details, dtype_of

# Templates whose argument is another functor, and which argument that is.
_WRAPPERS = {
    "gpu_kernel_impl": 0, "gpu_kernel_impl_nocast": 0, "gpu_index_kernel": 0,
    "BinaryFunctor": -1, "AUnaryFunctor": -1, "BUnaryFunctor": -1, "CompareFunctor": 0,
    "ReduceOp": 1, "func_wrapper_t": 1,
}  # fmt: skip
_ELEMENTWISE = (
    "vectorized_elementwise_kernel", "unrolled_elementwise_kernel", "elementwise_kernel",
    "legacy_elementwise_kernel", "elementwise_kernel_with_index",
    "elementwise_kernel_manual_unroll",
    "distribution_elementwise_grid_stride_kernel", "distribution_nullary_kernel",
)  # fmt: skip
# Part of an identifier -> family. The first that fits decides.
_FAMILIES = (
    ("softmax", "softmax"), ("layer_norm", "normalization"), ("LayerNorm", "normalization"),
    ("RowwiseMoments", "normalization"), ("batch_norm", "normalization"),
    ("GroupNorm", "normalization"), ("GammaBeta", "normalization"), ("rms_norm", "normalization"),
    ("multi_tensor_apply", "foreach"), ("reduce_kernel", "reduction"), ("CatArray", "copy"),
    ("dropout", "dropout"), ("pool", "pooling"), ("embedding", "index"), ("index", "index"),
    ("gather", "index"), ("scatter", "index"), ("ClassNLL", "loss"), ("nll_loss", "loss"),
    ("sort", "sort"), ("topk", "sort"), ("gatherTopK", "sort"), ("scan", "scan"),
    ("triu_tril", "elementwise"), ("im2col", "convolution"), ("conv_depthwise", "convolution"),
    ("transpose", "copy"), ("upsample", "interpolation"),
)  # fmt: skip
# A functor's or function's name, lower-cased and stripped -> the op, where the two differ.
_OPS = {
    "gelucudakernelimpl": "gelu", "gelubackwardcudakernelimpl": "gelu_backward",
    "cudafunctor_add": "add", "cudafunctoronself_add": "add", "cudafunctoronother_add": "add",
    "direct_copy": "copy_", "copy_device_to_device": "copy_", "bfloat16_copy": "copy_",
    "launch_clamp_scalar": "clamp", "clamp_min_scalar": "clamp_min", "mse": "mse_loss",
    "mse_backward": "mse_loss_backward", "launch_log_sigmoid_forward": "log_sigmoid_forward",
    "meanops": "mean", "welfordops": "var", "normtwoops": "norm", "argmaxops": "argmax",
    "argminops": "argmin", "silu": "silu", "threshold": "threshold", "uniform_and_transform":
    "uniform_", "normal_and_transform": "normal_", "masked_fill": "masked_fill", "fill": "fill_",
    "mulscalar": "mul", "addscalar": "add", "catarraybatchedcopy": "cat",
}  # fmt: skip
# Foreach kernels take the arithmetic as a C++ standard functor.
_FOREACH = {
    "plus": "_foreach_add", "minus": "_foreach_sub", "multiplies": "_foreach_mul",
    "divides": "_foreach_div",
}  # fmt: skip
_TAIL = re.compile(
    r"(?:_kernel_cuda|_cuda_kernel|_kernel_impl|_kernel|_cuda|_functor|Functor|_impl)$"
)


def _functor(argument: str, depth: int = 0) -> str:
    """The identifier that tells the op: wrappers, lambdas and namespaces taken off."""
    head = callee(argument.split("::{lambda", 1)[0].split("::operator()", 1)[0])
    name = identifier(head)
    if name in _WRAPPERS and depth < 8:
        inner = arguments(argument)
        if inner:
            return _functor(inner[min(_WRAPPERS[name], len(inner) - 1)], depth + 1)
    return name


def _op(functor: str) -> str | None:
    bare = functor
    while (shorter := _TAIL.sub("", bare)) != bare and shorter:
        bare = shorter
    bare = bare.lower()
    return _OPS.get(bare, bare) or None


def _dtype(argument: str) -> str | None:
    """The dtype that an elementwise or reduce kernel works on, from its functor or its lambda."""
    lambdas = re.findall(r"\{?lambda\(([^(){}]*)\)#?\d*", argument) or re.findall(
        r"\[lambda\(([^()\[\]]*)\)", argument
    )
    texts = [arguments(argument)]
    # The last lambda that takes values, not an index, is the innermost one: `lambda(c10::Half)#1`.
    texts += [t.split(",") for t in reversed(lambdas) if t.strip() and t.strip() != "int"]
    if "<" in argument:
        texts += [re.findall(r"<([\w:]+)", argument)]
    for text in texts:
        found = [d for part in text if (d := dtype_of(part.strip()))]
        if found:
            return found[0]
    return None


def aten(name: str) -> KernelName | None:
    """A kernel of PyTorch's ATen library, or ``None`` for other names."""
    head = callee(name)
    last = identifier(head)
    is_softmax = last.startswith(("softmax_warp_", "cunn_SoftMax", "cunn_"))
    if not (head.startswith(("at::", "at_cuda_detail::")) or is_softmax or "at::native::" in head):
        return None
    parts = [a for a in arguments(head) if not a.isdigit()]
    functor, op, dtype = None, None, None
    family = next((f for part, f in _FAMILIES if part in last), None)
    if last in _ELEMENTWISE:
        family = "elementwise"
    if family in ("elementwise", "reduction", "foreach") and parts:
        spelled = _spelled(parts, family, last)
        functor = _functor(spelled)
        op, dtype = _op(functor), _dtype(spelled)
        if family == "foreach":
            arithmetic = re.search(r"std::(plus|minus|multiplies|divides)<", head)
            op = _FOREACH[arithmetic.group(1)] if arithmetic else None
        family = "copy" if op == "copy_" else family
        short = f"{last}<{functor}{f', {dtype}' if dtype else ''}>"
    else:
        dtype = next((d for p in parts if (d := dtype_of(p))), None)
        short = f"{last}<{dtype}>" if dtype else last
    return KernelName(
        raw=name, short=clipped(short), family=f"ATen {family}" if family else "ATen",
        library="ATen", role=family, dtype=dtype, functor=functor,
        ops=(op,) if op else (),
        details=details(vector_width=_vector_width(last, head)),
    )  # fmt: skip


def _spelled(parts: list[str], family: str, last: str) -> str:
    """The template argument that says what is computed, among those that are no numbers."""
    if family == "foreach":  # the first is the list of tensors
        return parts[1] if len(parts) > 1 else parts[0]
    if last.startswith("distribution_"):
        return next((p for p in parts if "and_transform" in p), parts[-1])
    return next((p for p in parts if not dtype_of(p)), parts[0])


def _vector_width(last: str, head: str) -> str | None:
    first = arguments(head)[:1]
    return first[0] if last == "vectorized_elementwise_kernel" and first else None
