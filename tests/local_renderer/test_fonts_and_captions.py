"""Captions are shaped, fitted or refused by name; no caption ships with boxes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from resources.local_renderer import captions, fonts
from resources.local_renderer.refusals import Refused

_SENTENCES = {
    "Latin": "Žluťoučký kůň, façade, Straße, Tiếng Việt: “50 % off” – €9.99 & £8",
    "Greek": "Το δέμα σας, στην ώρα του · ἀρχή",
    "Cyrillic": "Ваша посылка — вовремя. Їжак, ђак, қазақ",
    "Arabic": "خصم ٥٠٪ على جميع المنتجات؟ آپ کا پارسل، وقت پر۔ پیش",
    "Devanagari": "किफ़ायती क़ीमत में शुद्ध श्रीखंड, हर दिन। ₹५०",
    "Han": "您的包裹，准时送达。骨直角 臺灣",
    "Hiragana": "ひらがな、ゃゅょっ",
    "Katakana": "カタカナ・ヴァイオリン！",
    "Hangul": "소포를 제시간에 받아보세요",
}
_FRAME = (640, 360)


def drawn(tmp_path: Path, caption: str, locale: str, frame: tuple[int, int] = _FRAME) -> Image.Image:
    path = tmp_path / "caption.png"
    captions.draw(caption, locale, frame, path)
    return Image.open(io.BytesIO(path.read_bytes()))


def ink(picture: Image.Image) -> tuple[int, int, int, int]:
    """Where the white of the letters is."""
    box = picture.convert("RGBA").getchannel("R").point(lambda v: 255 if v > 200 else 0).getbbox()
    assert box is not None
    return box


@pytest.mark.parametrize("script", fonts.SCRIPTS)
def test_a_stated_script_is_covered_whole(script: str) -> None:
    assert fonts.uncovered(_SENTENCES[script]) == ()


@pytest.mark.parametrize(
    ("caption", "names"), [("Hot ☕", "U+2615 HOT BEVERAGE"), ("สวัสดี", "THAI CHARACTER"), ("🚚", "U+1F69A")]
)
def test_what_no_font_draws_is_refused_by_name(caption: str, names: str) -> None:
    with pytest.raises(Refused) as caught:
        fonts.require_covered(caption)

    assert caught.value.code == "unsupported_script"
    assert names in str(caught.value)
    assert "Devanagari" in str(caught.value)


@pytest.mark.usefixtures("shipped_fonts")
@pytest.mark.parametrize(
    ("joined", "apart", "locale"),
    [("سلام", "س\u200cل\u200cا\u200cم", "ar"), ("क्षत्रिय", "क्\u200cषत्\u200cरिय", "hi-IN")],
)
def test_letters_are_joined_by_their_scripts_rules(
    tmp_path: Path, joined: str, apart: str, locale: str
) -> None:
    left, _, right, _ = ink(drawn(tmp_path, joined, locale))
    loose_left, _, loose_right, _ = ink(drawn(tmp_path, apart, locale))

    assert right - left < 0.93 * (loose_right - loose_left)


@pytest.mark.usefixtures("shipped_fonts")
def test_an_arabic_caption_runs_from_the_right_also_when_a_foreign_name_comes_first(tmp_path: Path) -> None:
    arabic = drawn(tmp_path, "Café 24 يقدم", "ar")
    assert drawn(tmp_path, "Café 24 يقدم", "en-GB").tobytes() != arabic.tobytes()
    assert drawn(tmp_path, "\u200fCafé 24 يقدم", "en-GB").tobytes() == arabic.tobytes()


@pytest.mark.usefixtures("shipped_fonts")
def test_the_locale_picks_the_shapes_of_han(tmp_path: Path) -> None:
    assert drawn(tmp_path, "骨直角", "zh-Hans").tobytes() != drawn(tmp_path, "骨直角", "ja-JP").tobytes()


@pytest.mark.usefixtures("shipped_fonts")
def test_markup_is_text(tmp_path: Path) -> None:
    plain, marked = drawn(tmp_path, "Fish chips", "en-GB"), drawn(tmp_path, "<b>Fish</b> & chips", "en-GB")

    assert ink(marked)[2] - ink(marked)[0] > 1.5 * (ink(plain)[2] - ink(plain)[0])


@pytest.mark.usefixtures("shipped_fonts")
@pytest.mark.parametrize("frame", [(1280, 720), (720, 1280), (720, 720), (160, 90)])
@pytest.mark.parametrize("script", fonts.SCRIPTS)
def test_a_caption_stays_inside_the_frame_and_its_margins(
    tmp_path: Path, script: str, frame: tuple[int, int]
) -> None:
    locale = {"Arabic": "ar", "Han": "zh", "Hangul": "ko"}.get(script, "ja")
    left, top, right, bottom = ink(drawn(tmp_path, _SENTENCES[script][:30], locale, frame))

    assert left >= frame[0] * 0.05
    assert right <= frame[0] * 0.95
    assert top > frame[1] * 0.4
    assert bottom <= frame[1] * 0.95


@pytest.mark.usefixtures("shipped_fonts")
def test_a_long_caption_shrinks_to_the_stated_size_and_a_longer_one_is_refused() -> None:
    short = captions.fit("On time.", "en-GB", _FRAME)
    long = captions.fit("On time, every time, " * 7, "en-GB", _FRAME)

    assert short.size > long.size >= round(captions.SMALLEST * 360)
    with pytest.raises(Refused, match="too long for 640x360, also at the smallest size"):
        captions.fit("On time, every time, " * 20, "en-GB", _FRAME)


@pytest.mark.usefixtures("shipped_fonts")
@pytest.mark.parametrize(
    ("caption", "locale"),
    [("소포를 제시간에 받아보세요", "ko-KR"), ("夏の新作コーヒー、本日発売。数量限定です", "ja-JP")],
)
def test_lines_break_between_phrases_in_scripts_that_would_break_anywhere(caption: str, locale: str) -> None:
    phrases = captions._phrases(caption, locale)

    assert phrases.replace("\u2060", "").replace("\u200b", "") == caption
    assert "\u2060" in phrases
