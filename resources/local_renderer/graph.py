"""One FFmpeg command as data: raw frames on standard input, the caption over them, one MP4 out.

Belongs here: argv. Does not belong here: running it (render).

No audio track: a silent one would only make the container longer than its frames (AAC counts in 1024
samples) and read as a defect in the quality report.
"""

from __future__ import annotations

from pathlib import Path

import ffmpeg
import imageio_ffmpeg

from resources.local_renderer.wanted import Wanted

#: A constant, not the machine's: x264's output depends on it, and equal jobs give equal bytes.
_THREADS = 2
_CRF = 20


def argv(wanted: Wanted, caption: Path | None, output: Path) -> list[str]:
    size = f"{wanted.width}x{wanted.height}"
    video = ffmpeg.input("pipe:0", format="rawvideo", pix_fmt="yuv420p", s=size, framerate=wanted.fps)
    video = video.filter(
        "setparams", range="tv", colorspace="bt709", color_primaries="bt709", color_trc="bt709"
    )
    if caption is not None:
        video = video.overlay(_appearing(wanted, caption), x=0, y=0, format="yuv420", shortest=1)
    built = ffmpeg.output(
        video.filter("format", "yuv420p"),
        f"file:{output}",
        format="mp4",
        vframes=wanted.frame_count,
        vcodec="libx264",
        preset="veryfast",
        crf=_CRF,
        g=2 * wanted.fps,
        pix_fmt="yuv420p",
        color_range="tv",
        colorspace="bt709",
        color_primaries="bt709",
        color_trc="bt709",
        movflags="+faststart",
        threads=_THREADS,
        map_metadata=-1,
        fflags="+bitexact",
    )
    quiet = ("-nostdin", "-hide_banner", "-loglevel", "error", "-filter_threads", "1")
    return [imageio_ffmpeg.get_ffmpeg_exe(), *quiet, *built.overwrite_output().get_args()]


def _appearing(wanted: Wanted, caption: Path) -> ffmpeg.nodes.FilterableStream:
    """The still caption for every frame; it fades in within the first half second and stays."""
    fade = min(0.4, wanted.duration_seconds / 4)
    still = ffmpeg.input(f"file:{caption}", framerate=wanted.fps)
    looped = still.filter("format", "yuva444p").filter("loop", loop=-1, size=1)
    return looped.filter("fade", t="in", st=0.1, d=fade, alpha=1)
