"""Facts of a video: structure whole, every packet read, every frame and sample decoded with errors fatal.

Runs inside the sandboxed child. An exit code or a probe proves nothing: a fast-start file cut at 60 % passes
both (SPEC R7).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any, BinaryIO

import av

from pipeline.domain.errors import MediaRefused, MediaUnproven
from resources.media import timeline
from resources.media.limits import MAX_FRAMES
from resources.media.measure import PictureMeter, SoundMeter
from resources.media.video_reader import VideoReader, stream_codec
from resources.media.wholeness import check_no_hole, check_whole

DeclareWork = Callable[[int, int], None]  #: (pixels to decode, pixels held at once)

#: Signs of the display matrix (a, b, c, d) -> flipped first?, then degrees clockwise.
_TURNS = {
    (1, 0, 0, 1): (False, 0),
    (0, 1, -1, 0): (False, 90),
    (-1, 0, 0, -1): (False, 180),
    (0, -1, 1, 0): (False, 270),
    (-1, 0, 0, 1): (True, 0),
    (0, -1, -1, 0): (True, 90),
    (1, 0, 0, -1): (True, 180),
    (0, 1, 1, 0): (True, 270),
}


def video_facts(file: BinaryIO, container: str, size_bytes: int, declare: DeclareWork) -> dict[str, Any]:
    """`VideoFacts` without what the parent knows itself, as JSON values."""
    ranges = check_whole(file, container, size_bytes)
    with VideoReader(file.fileno(), container) as reader:
        tracks = _walk(reader)
        pixels = reader.coded_size[0] * reader.coded_size[1]
        if not _has_raw_sound(reader):
            check_no_hole(file, ranges)
    declare(tracks[0].count * pixels, pixels)
    with VideoReader(file.fileno(), container) as reader:
        return _decode_all(reader, tracks)


def turn_of(frame: Any) -> tuple[bool, int]:
    """(mirrored, degrees clockwise) by the frame's display matrix.

    The angle that FFmpeg's tools print is wrong for a mirrored file, hence the matrix itself (measured).
    """
    matrix = frame.side_data.get("DISPLAYMATRIX") if frame.side_data else None
    if matrix is None:
        return False, 0
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(matrix))
    straight = abs(a) + abs(d) >= abs(b) + abs(c)
    signs = (_sign(a), 0, 0, _sign(d)) if straight else (0, _sign(b), _sign(c), 0)
    return _TURNS.get(signs, (False, 0))


def display_size(coded: tuple[int, int], ratio: Fraction, rotation: int) -> tuple[int, int]:
    width = max(1, round(coded[0] * ratio))
    return (coded[1], width) if rotation in (90, 270) else (width, coded[1])


def _walk(reader: VideoReader) -> list[timeline.Track]:
    """Read every packet without decoding: what is shown when, and how much work decoding will be."""
    tracks = {reader.video.index: timeline.Track()}
    if reader.audio is not None:
        tracks[reader.audio.index] = timeline.Track()
    for packet in reader.packets():
        if packet.size and not packet.is_discard:
            tracks[packet.stream.index].add(_seconds(packet, packet.pts), _seconds(packet, packet.duration))
    video = tracks[reader.video.index]
    if not video.count:
        raise MediaUnproven("no_frames", "an index without frames: cut, or its encoder was still running")
    if video.count > MAX_FRAMES:
        raise MediaRefused("too_many_frames", f"{video.count} frames, the limit is {MAX_FRAMES}")
    for track in tracks.values():
        track.close(reader.video.average_rate)
    return [video, *(track for index, track in tracks.items() if index != reader.video.index)]


def _decode_all(reader: VideoReader, tracks: list[timeline.Track]) -> dict[str, Any]:
    pictures, sounds = PictureMeter(), SoundMeter()
    shown: tuple[tuple[bool, int], str] | None = None
    for packet in reader.packets():
        is_video = packet.stream is reader.video
        for frame in reader.decoded(packet):
            (pictures if is_video else sounds).feed(frame)
            if is_video and shown is None:
                shown = turn_of(frame), frame.format.name
    if shown is None:
        raise MediaUnproven("no_frames", "no frame can be decoded")
    return _facts(reader, tracks, shown, pictures, sounds)


def _facts(
    reader: VideoReader,
    tracks: list[timeline.Track],
    shown: tuple[tuple[bool, int], str],
    pictures: PictureMeter,
    sounds: SoundMeter,
) -> dict[str, Any]:
    (mirrored, rotation), pixel_format = shown
    coded = reader.coded_size
    display = display_size(coded, reader.sample_aspect_ratio, rotation)
    rate = timeline.frame_rate(tracks[0], pictures.frames, reader.video.average_rate)
    return {
        "video_codec": stream_codec(reader.video),
        "audio_codec": stream_codec(reader.audio) if reader.audio is not None else None,
        "pixel_format": pixel_format,
        "coded_width": coded[0],
        "coded_height": coded[1],
        "sample_aspect_ratio": str(reader.sample_aspect_ratio),
        "rotation": rotation,
        "mirrored": mirrored,
        "display_width": display[0],
        "display_height": display[1],
        "duration_seconds": str(timeline.duration(tracks)),
        "frame_rate": str(rate) if rate is not None else None,
        "frame_count": pictures.frames,
        "has_alpha": reader.has_alpha,
        "has_audio": reader.audio is not None,
        "black_share": pictures.black_share,
        "frozen_share": pictures.frozen_share,
        "silent_share": sounds.silent_share,
        "clipped_share": sounds.clipped_share,
        "read_by": f"pyav {av.__version__}, ffmpeg {av.ffmpeg_version_info}",
    }


def _has_raw_sound(reader: VideoReader) -> bool:
    return reader.audio is not None and stream_codec(reader.audio).startswith("pcm_")


def _seconds(packet: Any, ticks: int | None) -> Fraction | None:
    return None if ticks is None else Fraction(ticks) * Fraction(packet.time_base)


def _sign(value: int) -> int:
    return (value > 0) - (value < 0)
