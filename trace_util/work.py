"""FLOPs and bytes of an op from its recorded shapes and dtypes.

Bytes are the least that must cross the GPU's memory: every input read once, the output written
once. A multiply-add counts as two FLOPs; an elementwise op as one an output element, whatever its
function costs. What cannot be worked out is ``None``, with the reason.
"""

from __future__ import annotations

from trace_util import products
from trace_util.events import Shapes
from trace_util.products import Formula, Work, broadcast, bytes_of
from trace_util.shapes import ITEM_BYTES, Inputs, Tensor, inputs

__all__ = ["NO_SHAPES", "Work", "elementwise_work", "op_work"]

NO_SHAPES = "no shapes recorded; record with record_shapes=True"


def op_work(name: str, shapes: Shapes | None) -> Work:
    """The work of one call of the op ``name`` (``aten::mm``, ``triton_poi_fused_…``)."""
    if shapes is None or not shapes.dims:
        return Work(reason=NO_SHAPES)
    given = inputs(shapes)
    if given is None or not given.tensors:
        return Work(reason="the recorded shapes hold no tensor")
    bare = name.removeprefix("aten::")
    formula = _FORMULAS.get(bare) or _FORMULAS.get(bare.removesuffix("_"))
    if formula is None and name.startswith("triton_"):
        formula = _triton
    if formula is None:
        return Work(reason=f"no formula for {name}")
    found = formula(given)
    return found if found is not None else Work(reason=f"{name}: unusual arguments")


def elementwise_work(given: Inputs) -> Work | None:
    """An op with one output of the inputs' broadcast shape: inputs read, output written."""
    return _pointwise(given, _widest(given.tensors))


def _comparison(given: Inputs) -> Work | None:
    return _pointwise(given, "bool")


def _pointwise(given: Inputs, dtype: str | None) -> Work | None:
    shape = broadcast([tensor.dims for tensor in given.tensors])
    if shape is None:
        return None
    output = Tensor(shape, dtype)
    return Work(output.elements, bytes_of(*given.tensors, output), given.tensors[0].dtype)


def _widest(tensors: tuple[Tensor, ...]) -> str | None:
    """The dtype of the result: a tensor with dimensions rules over one without, then the wider."""
    ranked = max(tensors, key=lambda t: (bool(t.dims), ITEM_BYTES.get(t.dtype or "", 0)))
    return ranked.dtype


def _copy(given: Inputs) -> Work | None:
    """``copy_(self, src)``: the source read, the target written; a clone has only a source."""
    target, source = given.tensor(0), given.tensor(1)
    if target is None:
        return None
    return Work(0, bytes_of(target, source or target), target.dtype)


def _fill(given: Inputs) -> Work:
    return Work(0, bytes_of(given.tensors[0]), given.tensors[0].dtype)


def _reduction(given: Inputs) -> Work:
    """The input read once; the output is smaller and its shape unrecorded."""
    x = given.tensors[0]
    return Work(x.elements, bytes_of(x), x.dtype, is_lower_bound=True)


def _rowwise(given: Inputs) -> Work:
    """Softmax and normalisation: read and write the input's size, and read the weights."""
    x = given.tensors[0]
    return Work(None, bytes_of(*given.tensors, x), x.dtype)


def _triton(given: Inputs) -> Work:
    """A kernel of Inductor's: its pointers are recorded, outputs too, each moved at least once.

    An argument that is read and overwritten moves twice; which one that is is not recorded.
    """
    return Work(None, bytes_of(*given.tensors), given.tensors[0].dtype, is_lower_bound=True)


_POINTWISE = """
    abs add addcdiv addcmul atan bitwise_and bitwise_or ceil clamp clamp_max clamp_min cos div elu
    erf exp exp2 floor fmod gelu gelu_backward hardsigmoid hardswish hardtanh leaky_relu lerp log
    log1p log2 masked_fill maximum minimum mish mul neg pow reciprocal relu remainder round rsqrt
    rsub sigmoid sigmoid_backward sign silu silu_backward sin softplus sqrt square sub tan tanh
    tanh_backward threshold_backward where xlogy
"""
_COMPARISONS = "eq ge gt isinf isnan le logical_and logical_not logical_or lt ne"
_REDUCTIONS = """
    all amax amin any argmax argmin linalg_vector_norm logsumexp max mean min norm prod std sum var
"""
_ROWWISE = "_log_softmax _softmax layer_norm native_group_norm native_layer_norm rms_norm softmax"

_FORMULAS: dict[str, Formula] = {
    **dict.fromkeys(("mm", "bmm", "matmul", "mv", "dot", "_int_mm"), products.mm),
    **dict.fromkeys(("addmm", "baddbmm", "addmv", "_addmm_activation"), products.addmm),
    "linear": products.linear,
    "_scaled_mm": products.scaled_mm,
    "fused_mlp::gated_linear": products.gated_linear,
    "fused_mlp::geglu": elementwise_work,
    "scaled_dot_product_attention": products.attention(5),
    "_scaled_dot_product_attention_math": products.attention(5),
    "_scaled_dot_product_flash_attention": products.attention(4),
    "_scaled_dot_product_efficient_attention": products.attention(6),
    "_scaled_dot_product_cudnn_attention": products.attention(6),
    "_flash_attention_forward": products.attention(8, heads_first=False),
    "_efficient_attention_forward": products.attention(9, heads_first=False),
    **dict.fromkeys(("convolution", "_convolution"), products.convolution(3, 4, 5, 8)),
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), products.convolution(3, 4, 5, 6)),
    "cudnn_convolution": products.convolution(3, 2, 4, 5),
    "cudnn_convolution_relu": products.convolution(3, 4, 5, 6),
    "miopen_convolution": products.convolution(4, 3, 5, 6),
    "convolution_backward": products.convolution_backward,
    **dict.fromkeys(("copy_", "clone", "contiguous"), _copy),
    **dict.fromkeys(("fill_", "zero_", "uniform_", "normal_"), _fill),
    **dict.fromkeys(_ROWWISE.split(), _rowwise),
    **dict.fromkeys(_REDUCTIONS.split(), _reduction),
    **dict.fromkeys(_COMPARISONS.split(), _comparison),
    **dict.fromkeys(_POINTWISE.split(), elementwise_work),
}
