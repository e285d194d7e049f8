"""One video opened with everything pinned: demuxer, protocol, codecs, streams, pixels, one thread.

Runs inside the sandboxed child. What is decoded is what a player shows: frames that an edit list hides are
never given out. Not here: facts (`videos`), colours (`colour`), which frame to take (`best_frame`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from types import TracebackType
from typing import Any, Self

import av
import av.error
from av.stream import Disposition

from pipeline.domain.errors import MediaRefused, MediaUnproven
from resources.media.limits import MAX_STREAMS, MAX_VIDEO_PIXELS
from resources.media.sniff import VIDEO_DEMUXERS

#: The decoder lists. A codec outside them is refused by name before a frame of it is decoded.
VIDEO_CODECS = frozenset({"h264", "hevc", "vp8", "vp9", "av1", "mpeg4", "mpeg2video", "prores"})
AUDIO_CODECS = frozenset(
    {"aac", "mp3", "mp2", "opus", "vorbis", "ac3", "eac3", "flac", "alac"}
    | {"pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be", "pcm_f32le", "pcm_f32be"}
)
#: The native decoders drop the alpha plane of these, the library's own do not (measured).
_ALPHA_DECODERS = {"vp8": "libvpx", "vp9": "libvpx-vp9"}
_DECODER_OPTIONS = {"err_detect": "explode", "max_pixels": str(MAX_VIDEO_PIXELS)}
_PICTURES = Disposition.attached_pic | Disposition.timed_thumbnails
_REMEDY = "have it rendered again in a container and codec of the target profile"


class VideoReader:
    """The video stream, at most one audio stream, and their decoders. Use as a context manager."""

    def __init__(self, fd: int, container: str) -> None:
        os.lseek(fd, 0, os.SEEK_SET)  # FFmpeg begins where the descriptor stands
        demuxer = VIDEO_DEMUXERS[container]
        options = {"fd": str(fd), "protocol_whitelist": "fd", "format_whitelist": demuxer}
        with translated("no_index"):
            self.container: Any = av.open(
                "fd:",
                format=demuxer,
                options=_DECODER_OPTIONS,
                container_options=options,
                metadata_errors="replace",  # titles come in any encoding
            )
        try:
            self.video = self._one_video()
            self.audio = self._first_audio()
            self.has_alpha = self._says_alpha()
            self.decoder = self._decoder()
            self._first_key: int | None = None
        except BaseException:
            self.container.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.container.close()

    @property
    def coded_size(self) -> tuple[int, int]:
        return int(self.video.codec_context.width), int(self.video.codec_context.height)

    @property
    def sample_aspect_ratio(self) -> Fraction:
        """Width of a pixel to its height; 1 for what is absent or absurd."""
        ratio = self.video.sample_aspect_ratio or self.video.codec_context.sample_aspect_ratio
        plausible = ratio and Fraction(1, 16) <= ratio <= 16
        return Fraction(ratio) if plausible else Fraction(1)

    def packets(self) -> Iterator[Any]:
        """Packets of both streams in file order, then each decoder's flush. MediaUnproven for a bad one."""
        streams = [self.video] if self.audio is None else [self.video, self.audio]
        with translated("undecodable"):
            for packet in self.container.demux(streams):
                if packet.is_corrupt:
                    raise MediaUnproven("truncated", "a packet is shorter than the index says")
                if self._first_key is None and packet.is_keyframe and packet.stream is self.video:
                    self._first_key = packet.pts
                yield packet

    def decoded(self, packet: Any) -> list[Any]:
        """Shown frames that the packet completes (an empty packet flushes). MediaUnproven for a bad one."""
        decoder = self.decoder if packet.stream is self.video else packet.stream.codec_context
        try:
            with translated("undecodable"):
                frames = decoder.decode(packet if packet.size else None)
        except MediaUnproven:
            if self._may_lack_references(packet):
                return []
            raise
        if any(frame.is_corrupt for frame in frames):
            raise MediaUnproven("undecodable", "a frame decodes with errors")
        return list(frames)

    def _may_lack_references(self, packet: Any) -> bool:
        """True for hidden frames, and for those shown before the first keyframe although they follow it.

        A clip that was trimmed without encoding it anew keeps them; what they refer to was cut off, and
        players skip them.
        """
        if packet.stream is not self.video or packet.pts is None:
            return False
        return bool(packet.is_discard) or (self._first_key is not None and packet.pts < self._first_key)

    def frames(self) -> Iterator[Any]:
        """Shown video frames from the start."""
        for packet in self.packets():
            if packet.stream is self.video:
                yield from self.decoded(packet)

    def keyframe_at(self, pts: int) -> Any | None:
        """The shown keyframe before `pts`, or None; one packet fed and drained, so no reorder delay."""
        with translated("undecodable"):
            self.container.seek(pts, stream=self.video, backward=True)
            self.decoder.flush_buffers()
            for packet in self.container.demux(self.video):
                if packet.is_keyframe and packet.size:
                    frames = self.decoder.decode(packet) or self.decoder.decode(None)
                    self.decoder.flush_buffers()
                    return frames[0] if frames else None
        return None

    def _one_video(self) -> Any:
        streams = self.container.streams
        if len(streams) > MAX_STREAMS:
            raise MediaRefused("too_many_streams", f"{len(streams)} streams, at most {MAX_STREAMS}", _REMEDY)
        moving = [stream for stream in streams.video if not stream.disposition & _PICTURES]
        if not moving:
            raise MediaRefused("no_video_stream", "no video stream (a cover picture is no video)", _REMEDY)
        if len(moving) > 1:
            raise MediaRefused("several_videos", f"{len(moving)} video streams in one file", _REMEDY)
        self._check_video(moving[0])
        return moving[0]

    def _check_video(self, stream: Any) -> None:
        context = stream.codec_context
        name = context.name if context is not None else "unknown"
        if stream_codec(stream) not in VIDEO_CODECS:
            raise MediaRefused("unsupported_video_codec", f"video codec {name} is not read here", _REMEDY)
        if context.width * context.height > MAX_VIDEO_PIXELS:
            raise MediaRefused(
                "too_many_pixels",
                f"{context.width}x{context.height}, the limit is {MAX_VIDEO_PIXELS} pixels",
                _REMEDY,
            )

    def _first_audio(self) -> Any | None:
        for stream in self.container.streams.audio:
            if stream_codec(stream) not in AUDIO_CODECS:
                name = stream_codec(stream)
                raise MediaRefused("unsupported_audio_codec", f"audio codec {name} is not read here", _REMEDY)
            stream.codec_context.options = {"err_detect": "explode"}
            return stream
        return None

    def _says_alpha(self) -> bool:
        if self.video.metadata.get("alpha_mode") == "1":  # VP8 and VP9: nothing else shows it
            return True
        pixel_format = self.video.codec_context.format
        return pixel_format is not None and any(part.is_alpha for part in pixel_format.components)

    def _decoder(self) -> Any:
        context = self.video.codec_context
        own = _ALPHA_DECODERS.get(stream_codec(self.video)) if self.has_alpha else None
        if own is not None:
            decoder = av.CodecContext.create(own, "r")
            decoder.extradata = context.extradata
            context = decoder
        context.thread_count = 1
        context.thread_type = "NONE"
        context.options = _DECODER_OPTIONS
        return context


def stream_codec(stream: Any) -> str:
    """FFmpeg's name of the codec, not of the decoder: `av1`, not `libdav1d`."""
    context = stream.codec_context
    return str(context.codec.canonical_name) if context is not None else "unknown"


class translated:  # noqa: N801 - reads as a verb in `with translated("undecodable")`
    """FFmpeg's complaints as MediaUnproven: the bytes may have suffered on their way, so fetch again.

    FFmpeg numbers errors of its own like the system's (a broken index can come out as PermissionError), so
    only the lack of memory keeps its meaning.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, MemoryError):
            raise MemoryError from error
        if isinstance(error, av.error.FFmpegError | IndexError | EOFError):
            raise MediaUnproven(self._reason, f"damaged, or cut off: {_said(error)}") from error


def _said(error: BaseException) -> str:
    """FFmpeg's sentence, without its number and the name of the function that met it."""
    sentence = getattr(error, "strerror", None) or str(error) or "it ends too early"
    return sentence[:1].lower() + sentence[1:160]
