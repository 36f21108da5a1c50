"""The roofline figure of `benchmarks/mlp.py`: the measured ceilings, the variants beneath them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.mlp_report import Result, cases, flop, is_compiled, rates, traffic_bytes


def draw_roofline(result: Result, path: Path) -> None:
    """The measured ceilings, and the MLP's variants beneath. Raises `ValueError` without rows."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    if not result["mlp"]:
        raise ValueError(f"{path}: no MLP was measured, so there is nothing to draw")
    copy, gemm = result["ceilings"]["copy_tb_s"], result["ceilings"]["gemm_tflop_s"]
    figure, axes = pyplot.subplots(figsize=(9, 5.5), layout="constrained")
    ridge = gemm / copy
    axes.plot([1, ridge, 1e5], [copy, gemm, gemm], color="black", linewidth=1)
    axes.annotate(f"copy, {copy:.2f} TB/s", (2.4, copy * 3.4), rotation=34, va="bottom")
    axes.annotate(f"GEMM, {gemm:.0f} TFLOP/s", (ridge * 3, gemm * 1.25), va="bottom")
    markers = dict(zip(dict.fromkeys(r["shape"] for r in result["mlp"]), "osD^v", strict=False))
    drawn = [name for name in ("eager", "compile", "fused graph", "fused")]
    for colour, name in zip(("tab:gray", "tab:blue", "tab:green", "tab:red"), drawn, strict=True):
        for (shape, _), rows in cases(result).items():
            matching = [r for r in rows if r["variant"] == name or (name, True) == (
                "compile", is_compiled(r["variant"]))]  # fmt: skip
            if matching:
                row = min(matching, key=lambda r: r["step_us"]["median"])
                intensity = flop(row) / traffic_bytes(row)
                axes.plot(intensity, rates(row)[0], markers[shape], color=colour, markersize=6)
        axes.plot(
            [], [], "o", color=colour, label="best compile mode" if name == "compile" else name
        )
    for shape, marker in markers.items():
        axes.plot([], [], marker, color="black", fillstyle="none", label=shape)
    axes.set(
        xscale="log", yscale="log", xlim=(0.5, 3e4), ylim=(0.05, gemm * 2),
        xlabel="FLOP per byte that the variant must move", ylabel="TFLOP/s, from unprofiled steps",
        title=f"The gated MLP at 1, 64, 2048 and 8192 tokens on an {result['gpu']}",
    )  # fmt: skip
    axes.legend(loc="lower right", fontsize="small")
    axes.grid(alpha=0.3)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
