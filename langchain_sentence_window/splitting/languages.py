"""Languages: the words of each one that the splitter needs, their codes, and which one a text is in.

Each language has a data file, ``data/languages/CODE.txt``. To add a language, add its file (the sections are the
fields of `Language`) and a file of golden cases, ``tests/splitting/golden/CODE.txt``.

The language of a text is what its metadata says, else what its letters show. Detection is offline: py3langid holds its
model, a naive Bayes classifier over byte n-grams. Lui & Baldwin, "langid.py: An Off-the-shelf Language Identification
Tool", ACL 2012.
"""

import functools
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import import_module, resources
from importlib.resources.abc import Traversable
from typing import Any

from langchain_sentence_window._display import shown
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError

_SECTION = re.compile(r"\[(\w+)\]")
_ROMAN = re.compile(r"[IVX]{2,6}")
_RANGE = re.compile(r"[-–/]")  # "vom 1.-3. Mai"


@dataclass(frozen=True, slots=True)
class Language:
    """Words of a language, in lower case and, if abbreviations, without their last full stop.

    In the data files an underscore stands for a space in a word.

    Attributes:
        abbreviations: Never end a sentence.
        closing: Abbreviations that end a sentence if a starter follows.
        capitalized: Like ``closing``, but abbreviations only when written with a capital letter.
        numbered: Abbreviations only before a number, a letter or a bracket.
        times: Abbreviations that end a sentence before a capital letter, see ``fronts``.
        zones: Words that belong to the time before them, such as "EST" and "Monday".
        soft: Abbreviations that end a sentence before a capitalized word that isn't an abbreviation.
        endings: Ends of longer words that are abbreviated, such as the German "Hauptstr."; abbreviations themselves.
        counted: Words with an ordinal of any size before them, if ``flags`` has ``ordinals``.
        starters: Words that begin a sentence if they follow an abbreviation and have a capital letter.
        fronts: Words that begin a phrase before a sentence, such as "At 5 a.m."; a time doesn't end that phrase.
        farewells: Phrases that end a letter; the writer's name after their comma is a sentence.
        flags: ``ordinals`` if a number of two digits or a Roman one, with a full stop, is an ordinal unless a starter
            follows.
        leads: Words that don't end a sentence: if a line ends with one, the sentence continues.
    """

    abbreviations: frozenset[str] = frozenset()
    closing: frozenset[str] = frozenset()
    capitalized: frozenset[str] = frozenset()
    numbered: frozenset[str] = frozenset()
    times: frozenset[str] = frozenset()
    zones: frozenset[str] = frozenset()
    soft: frozenset[str] = frozenset()
    endings: frozenset[str] = frozenset()
    counted: frozenset[str] = frozenset()
    starters: frozenset[str] = frozenset()
    leads: frozenset[str] = frozenset()
    fronts: frozenset[str] = frozenset()
    farewells: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()

    def abbreviates(self, word: str) -> bool:
        """Return whether a word, given without its full stop, is an abbreviation of any kind."""
        lower = word.lower()
        known = lower in self.abbreviations or lower in self.closing or lower in self.numbered or lower in self.soft
        return known or (word[:1].isupper() and lower in self.capitalized)

    def counts(self, word: str, following: str) -> bool:
        """Return whether a number with a full stop is an ordinal: "31. Mai", "Ludwig XIV. König", "100. Geburtstag".

        Args:
            word: The word before the full stop.
            following: The word after it.
        """
        if "ordinals" not in self.flags:
            return False
        lower = following.lower()
        word = _RANGE.split(word)[-1]
        is_small = len(word) <= 2 if word.isdigit() else _ROMAN.fullmatch(word) is not None  # noqa: PLR2004
        return (is_small and lower not in self.starters) or (word.isdigit() and lower in self.counted)

    def core(self, word: str) -> str:
        """Return the part of a word that a list may hold: "Ing" of "Dipl.-Ing", "str" of "Hauptstr"; else the word."""
        tail = word.rpartition("-")[2]
        if tail != word and len(tail) > 1 and self.abbreviates(tail) and not self.abbreviates(word):
            return tail
        return next((ending for ending in self.endings if word.endswith(ending)), word)


@functools.cache
def known_languages() -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the languages that have a data file."""
    return tuple(sorted(entry.name[:2] for entry in _folder().iterdir() if entry.name.endswith(".txt")))


@functools.cache
def load_language(code: str) -> Language:
    """Load the words of a language.

    Args:
        code: Its ISO 639-1 code, such as ``en``.

    Raises:
        InvalidInputError: There is no data file for it.
    """
    if code not in known_languages():
        raise InvalidInputError(
            f"language is {code!r}, and there are word lists for {', '.join(known_languages())}; for others use "
            'engine="sentencex"'
        )
    words: dict[str, set[str]] = {field.name: set() for field in fields(Language)}
    section = ""
    for line in (_folder() / f"{code}.txt").read_text(encoding="utf-8").splitlines():
        content = line.partition("#")[0].strip()
        if match := _SECTION.fullmatch(content):
            section = match[1]
        elif content:
            words[section].update(word.replace("_", " ") for word in content.split())
    return Language(**{name: frozenset(found) for name, found in words.items()})


def _folder() -> Traversable:
    return resources.files(__package__) / "data" / "languages"


AUTO = "auto"
"""The language of a splitter that detects it where the metadata doesn't say."""

FALLBACK = "en"
"""The language of a text that is too short or too mixed to tell."""

MIN_PROBABILITY = 0.5
"""Below it, a text's language isn't taken for detected. Titles, names and tables of numbers stay below it."""

SAMPLE_CHARS = 1_000
"""Characters that detection reads of a text's beginning, as many of its middle, and of its end."""

_NO_LANGUAGE = "zxx"
_LISTS = (list, tuple, set, frozenset)

# What stands in metadata where nothing is known: codes of ISO 639-2 for undetermined, several and none, and words of
# loaders, such as LangChain's for web pages.
_SAYS_NOTHING = frozenset(
    {"", "und", "mul", "mis", "zxx", "auto", "none", "null", "n/a", "unknown", "no language found", "x-default"}
)
# LangChain's loaders of source code write the programming language under the same key.
_PROGRAMMING_LIST = """
c cobol cpp csharp elixir go haskell html java javascript js json jsx kotlin latex lua markdown perl php powershell
proto python r rst ruby rust scala sol sql swift tsx typescript visualbasic6
"""
_PROGRAMMING = frozenset(_PROGRAMMING_LIST.split())


def language_of(text: str, metadata: Mapping[str, Any], language: str, *, doc_id: str = "") -> str:
    """Tell the language of a document.

    ``language`` in its metadata decides: an ISO 639 code, also as loaders write it, such as ``en-US`` or ``deu``, or a
    list of one. Else ``languages`` decides if it is a list of one code, as unstructured writes it.

    Args:
        text: The whole text of the document.
        metadata: Its metadata.
        language: The language if the metadata doesn't say; `AUTO` to detect it.
        doc_id: The document's name, for messages.

    Returns:
        An ISO 639 code in lower case.

    Raises:
        InvalidInputError: The metadata names a language that isn't known.
        MissingExtraError: The language must be detected, and py3langid isn't installed.
    """
    return language_of_parts(text, [(metadata, len(text))], language, doc_id=doc_id)


def language_of_parts(
    text: str, parts: Iterable[tuple[Mapping[str, Any], int]], language: str, *, doc_id: str = ""
) -> str:
    """Tell the language of a document of parts, such as elements of a page whose languages were detected one by one.

    Args:
        text: The whole text of the document.
        parts: The metadata of each part, and its characters.
        language: The language if the metadata doesn't say; `AUTO` to detect it.
        doc_id: The document's name, for messages.

    Returns:
        The code that the metadata gives most of the text, see `language_of`; of equals, the first.

    Raises:
        InvalidInputError: The metadata of a part names a language that isn't known.
        MissingExtraError: The language must be detected, and py3langid isn't installed.
    """
    chars: dict[str, int] = {}
    for metadata, size in parts:
        said = said_language(metadata, language, doc_id=doc_id) if metadata else None
        if said is not None:
            chars[said] = chars.get(said, 0) + size
    if chars:
        return max(chars, key=lambda code: chars[code])
    return language if language != AUTO else detected_language(text) or FALLBACK


def said_language(metadata: Mapping[str, Any], language: str, *, doc_id: str = "") -> str | None:
    """Return the language that a document's metadata names; ``None`` if it names none, or several.

    Args:
        metadata: The metadata.
        language: The splitter's language, which is known to its engine even if nobody else knows it.
        doc_id: The document's name, for messages.

    Raises:
        InvalidInputError: It names a language that isn't known.
    """
    said = _single(metadata.get("language"))
    if isinstance(said, str) and said == language:
        return language
    if said is not None:
        code = plain_code(said) if isinstance(said, str) else None
        if code is None:
            raise unknown_code(said, doc_id=doc_id)
        return code
    among = _single(metadata.get("languages"))
    return plain_code(among) if isinstance(among, str) else None


def detected_language(text: str) -> str | None:
    """Detect the language of a text from a sample of its beginning, middle and end.

    Args:
        text: Any string.

    Returns:
        Its code of ISO 639-1; ``None`` if the text is too short, too mixed or no natural language.

    Raises:
        MissingExtraError: py3langid isn't installed.
    """
    code, probability = _identifier().classify(_sample(text))
    return None if code == _NO_LANGUAGE or probability < MIN_PROBABILITY else str(code)


def check_detection() -> None:
    """Check that languages can be detected here.

    Raises:
        MissingExtraError: py3langid isn't installed.
    """
    _langid()


def _single(value: object) -> object:
    """Return what a value of metadata says, without the list around it; ``None`` if it says nothing, or several."""
    if type(value) in _LISTS and isinstance(value, list | tuple | set | frozenset):
        value = next(iter(value)) if len(value) == 1 else None
    if isinstance(value, str):
        value = str.__str__(value)
        word = value.strip().lower().rstrip(".")
        return None if word in _SAYS_NOTHING or word in _PROGRAMMING else value
    is_nan = isinstance(value, float) and math.isnan(value)  # pandas writes it for nothing
    return None if is_nan else value


def _sample(text: str) -> str:
    if len(text) <= 3 * SAMPLE_CHARS:
        return text
    middle = (len(text) - SAMPLE_CHARS) // 2
    return "\n".join((text[:SAMPLE_CHARS], text[middle : middle + SAMPLE_CHARS], text[-SAMPLE_CHARS:]))


@functools.cache
def _identifier() -> Any:
    """Make a classifier of the languages that have a code of two letters; others are hardly told from them."""
    langid = _langid()
    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    identifier.set_languages({_NO_LANGUAGE, *ISO_639_1}.intersection(identifier.nb_classes))
    return identifier


def _langid() -> Any:
    try:
        return import_module("py3langid.langid")
    except ModuleNotFoundError as error:
        raise MissingExtraError("py3langid", "languages") from error


_SHAPE = re.compile(r"[a-z]{2,3}")
_LOCALE = re.compile(r"([a-z]{2,3})(?:[-_.@][\w.@-]*)?")
_MIN_NAME_CHARS, _MAX_NAME_CHARS = 3, 30

_NAMES = """
aa Afar, ab Abkhazian, ae Avestan, af Afrikaans, ak Akan, am Amharic, an Aragonese, ar Arabic, as Assamese, av Avaric,
ay Aymara, az Azerbaijani, ba Bashkir, be Belarusian, bg Bulgarian, bi Bislama, bm Bambara, bn Bengali, bo Tibetan,
br Breton, bs Bosnian, ca Catalan, ce Chechen, ch Chamorro, co Corsican, cr Cree, cs Czech, cu Church Slavic,
cv Chuvash, cy Welsh, da Danish, de German, dv Divehi, dz Dzongkha, ee Ewe, el Greek, en English, eo Esperanto,
es Spanish, et Estonian, eu Basque, fa Persian, ff Fulah, fi Finnish, fj Fijian, fo Faroese, fr French,
fy Western Frisian, ga Irish, gd Gaelic, gl Galician, gn Guarani, gu Gujarati, gv Manx, ha Hausa, he Hebrew, hi Hindi,
ho Hiri Motu, hr Croatian, ht Haitian, hu Hungarian, hy Armenian, hz Herero, ia Interlingua, id Indonesian,
ie Interlingue, ig Igbo, ii Sichuan Yi, ik Inupiaq, io Ido, is Icelandic, it Italian, iu Inuktitut, ja Japanese,
jv Javanese, ka Georgian, kg Kongo, ki Kikuyu, kj Kuanyama, kk Kazakh, kl Kalaallisut, km Khmer, kn Kannada, ko Korean,
kr Kanuri, ks Kashmiri, ku Kurdish, kv Komi, kw Cornish, ky Kirghiz, la Latin, lb Luxembourgish, lg Ganda,
li Limburgan, ln Lingala, lo Lao, lt Lithuanian, lu Luba-Katanga, lv Latvian, mg Malagasy, mh Marshallese, mi Maori,
mk Macedonian, ml Malayalam, mn Mongolian, mr Marathi, ms Malay, mt Maltese, my Burmese, na Nauru,
nb Norwegian Bokmål, nd North Ndebele, ne Nepali, ng Ndonga, nl Dutch, nn Norwegian Nynorsk, no Norwegian,
nr South Ndebele, nv Navajo, ny Chichewa, oc Occitan, oj Ojibwa, om Oromo, or Oriya, os Ossetian, pa Punjabi, pi Pali,
pl Polish, ps Pashto, pt Portuguese, qu Quechua, rm Romansh, rn Rundi, ro Romanian, ru Russian, rw Kinyarwanda,
sa Sanskrit, sc Sardinian, sd Sindhi, se Northern Sami, sg Sango, si Sinhala, sk Slovak, sl Slovenian, sm Samoan,
sn Shona, so Somali, sq Albanian, sr Serbian, ss Swati, st Southern Sotho, su Sundanese, sv Swedish, sw Swahili,
ta Tamil, te Telugu, tg Tajik, th Thai, ti Tigrinya, tk Turkmen, tl Tagalog, tn Tswana, to Tonga, tr Turkish,
ts Tsonga, tt Tatar, tw Twi, ty Tahitian, ug Uighur, uk Ukrainian, ur Urdu, uz Uzbek, ve Venda, vi Vietnamese,
vo Volapük, wa Walloon, wo Wolof, xh Xhosa, yi Yiddish, yo Yoruba, za Zhuang, zh Chinese, zu Zulu
"""

ISO_639_1: dict[str, str] = {
    code: name for code, _, name in (entry.strip().partition(" ") for entry in _NAMES.split(","))
}
"""English names of languages by their two-letter codes."""

# Codes of ISO 639-2, both of the terms and of the bibliographies; and the chief member of a language that ISO 639-3
# counts as several ("arb" for Arabic), codes that BCP 47 has replaced.
_OTHER_CODES_LIST = """
aar:aa abk:ab afr:af aka:ak alb:sq amh:am ara:ar arg:an arm:hy asm:as ava:av ave:ae aym:ay aze:az bak:ba bam:bm baq:eu
bel:be ben:bn bih:bh bis:bi bod:bo bos:bs bre:br bul:bg bur:my cat:ca ces:cs cha:ch che:ce chi:zh chu:cu chv:cv cor:kw
cos:co cre:cr cym:cy cze:cs dan:da deu:de div:dv dut:nl dzo:dz ell:el eng:en epo:eo est:et eus:eu ewe:ee fao:fo fas:fa
fij:fj fin:fi fra:fr fre:fr fry:fy ful:ff geo:ka ger:de gla:gd gle:ga glg:gl glv:gv gre:el grn:gn guj:gu hat:ht hau:ha
heb:he her:hz hin:hi hmo:ho hrv:hr hun:hu hye:hy ibo:ig ice:is ido:io iii:ii iku:iu ile:ie ina:ia ind:id ipk:ik isl:is
ita:it jav:jv jpn:ja kal:kl kan:kn kas:ks kat:ka kau:kr kaz:kk khm:km kik:ki kin:rw kir:ky kom:kv kon:kg kor:ko kua:kj
kur:ku lao:lo lat:la lav:lv lim:li lin:ln lit:lt ltz:lb lub:lu lug:lg mac:mk mah:mh mal:ml mao:mi mar:mr may:ms mkd:mk
mlg:mg mlt:mt mon:mn mri:mi msa:ms mya:my nau:na nav:nv nbl:nr nde:nd ndo:ng nep:ne nld:nl nno:nn nob:nb nor:no nya:ny
oci:oc oji:oj ori:or orm:om oss:os pan:pa per:fa pli:pi pol:pl por:pt pus:ps que:qu roh:rm ron:ro rum:ro run:rn rus:ru
sag:sg san:sa sin:si slk:sk slo:sk slv:sl sme:se smo:sm sna:sn snd:sd som:so sot:st spa:es sqi:sq srd:sc srp:sr ssw:ss
sun:su swa:sw swe:sv tah:ty tam:ta tat:tt tel:te tgk:tg tgl:tl tha:th tib:bo tir:ti ton:to tsn:tn tso:ts tuk:tk tur:tr
twi:tw uig:ug ukr:uk urd:ur uzb:uz ven:ve vie:vi vol:vo wel:cy wln:wa wol:wo xho:xh yid:yi yor:yo zha:za zho:zh zul:zu
arb:ar azj:az cmn:zh ekk:et gaz:om khk:mn kmr:ku lvs:lv npi:ne ory:or pbt:ps pes:fa plt:mg prs:fa swh:sw uzn:uz
ydd:yi zsm:ms in:id iw:he ji:yi jw:jv
"""
_OTHER_CODES = {pair[:-3]: pair[-2:] for pair in _OTHER_CODES_LIST.split()}

_OTHER_NAMES = {
    "cn": "zh",
    "cz": "cs",
    "dk": "da",
    "gr": "el",
    "jp": "ja",
    "ua": "uk",
    "castellano": "es",
    "deutsch": "de",
    "español": "es",
    "français": "fr",
    "italiano": "it",
    "mandarin": "zh",
    "português": "pt",
}

# Codes for which sentencex 1.0.30 names a language whose rules it uses (its `fallbacks.rs`); for all others it
# silently uses English rules. Codes of ISO 639-1 are allowed too, as it knows the punctuation of their scripts.
_SENTENCEX_LIST = """
aae abs ace acm ady aeb aln als alt ami anp apc arn arq ary arz ast atj avk awa azb ban bar bbc bcc bci bdr bew bgn
bh bjn blk bpy bqi btm bug bxr crh csb dsb dtp dty dua egl eml ext fit fon frc frp frr fur gag gan gcf gcr gld glk
gom gor gsw guc hak hif hke hrx hsb hsn hyw iba inh jut kaa kab kbd kbp kea kge khw kiu kjh kjp koi krc krl ksh ksw
kum lad lbe lez lij liv ljp lki lld lmo lrc ltg lua luz lzh lzz mad mag mai mdf mhr min mnw mo mrj mui mwl myv mzn
nah nap nds nia nrm nyo olo pcd pdc pdt pfl pms pnt pwn qug rgn rmy rsk rue rup ruq rut sah scn sdc sdh ses sgs sh
shi shy sjd skr sli sma smn srn sro stq sty szl szy tay tcy tet trv ttj tyv udm vec vep vls vmf vmw vot vro wls wuu
xal xmf yue
"""
_SENTENCEX_CODES = frozenset(_SENTENCEX_LIST.split())


def check_code(code: object) -> str:
    """Return the code of a language if it has the form of one.

    Raises:
        InvalidInputError: It isn't two or three lowercase letters.
    """
    if not isinstance(code, str) or not _SHAPE.fullmatch(code):
        raise unknown_code(code)
    return code


def is_known(code: str) -> bool:
    """Return whether this package or sentencex has rules for a language, or for one near to it."""
    return code in ISO_639_1 or code in _SENTENCEX_CODES


def plain_code(text: str) -> str | None:
    """Reduce a code as loaders write it to the code by which this package knows the language.

    Args:
        text: Such as ``en-US``, ``pt_BR``, ``EN``, ``deu``, ``zho_Hans``.

    Returns:
        Two letters, or three if ISO 639-1 lacks the language; ``None`` if it isn't a code, or none that is known.
    """
    match = _LOCALE.fullmatch(text.strip().lower())
    if match is None:
        return None
    code = _OTHER_CODES.get(match[1], match[1])
    return code if is_known(code) else None


def unknown_code(code: object, *, doc_id: str | None = None) -> InvalidInputError:
    """Make the error for a code that isn't known. It lists codes and names the one that was likely meant.

    Args:
        code: The value that was given.
        doc_id: The document whose metadata gives it, empty if it has no name; ``None`` if it is the splitter's setting.
    """
    likely = likely_code(code) if isinstance(code, str) else None
    meant = f', likely "{likely}" here' if likely else ""
    of, cure = "language", "for any other language, give a callable as engine"
    if doc_id is not None:
        of = f'metadata["language"] of document {doc_id!r:.80}' if doc_id else 'metadata["language"]'
        cure = "leave the key out to take the splitter's language. Nothing was stored"
    return InvalidInputError(
        f"{of} is {shown(code)}; it must be an ISO 639 code{meant}. There are word lists for "
        f'{", ".join(known_languages())}, and sentencex knows others, such as "hi" and "ja"; {cure}'
    )


def likely_code(text: str) -> str | None:
    """Guess the code from a language's name, or from a code in capitals or with a region; ``None`` for no guess."""
    base = re.split(r"[-_.@\s]", text.strip().casefold(), maxsplit=1)[0]
    if base in ISO_639_1 or base in _OTHER_CODES:
        return _OTHER_CODES.get(base, base)
    codes = {name.casefold(): code for code, name in ISO_639_1.items()} | _OTHER_NAMES
    if base in codes or len(base) < _MIN_NAME_CHARS:
        return codes.get(base)
    begun = [name for name in codes if name.startswith(base)]
    near = begun or get_close_matches(base[:_MAX_NAME_CHARS], codes, n=1, cutoff=0.75)
    return codes[near[0]] if near else None
