"""Shares traces: files to a Hugging Face bucket, with a Perfetto link each, and back."""

from trace_util.outcome import Item, Upload
from trace_util.share.download import download
from trace_util.share.upload import upload_traces

__all__ = ["Item", "Upload", "download", "upload_traces"]
