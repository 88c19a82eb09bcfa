"""Language codes: which exist, which a library knows, and which one was likely meant."""

import re
from difflib import get_close_matches

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.language import known_languages

_SHAPE = re.compile(r"[a-z]{2,3}")
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


def unknown_code(code: object) -> InvalidInputError:
    """Make the error for a code that isn't known: it lists codes and names the one that was likely meant."""
    likely = likely_code(code) if isinstance(code, str) else None
    meant = f', likely "{likely}" here' if likely else ""
    return InvalidInputError(
        f"language is {shown(code)}; it must be an ISO 639 code{meant}. There are word lists for "
        f'{", ".join(known_languages())}, and sentencex knows others, such as "hi" and "ja"; for any other language, '
        "give a callable as engine"
    )


def likely_code(text: str) -> str | None:
    """Guess the code from a language's name, or from a code in capitals or with a region; ``None`` for no guess."""
    base = re.split(r"[-_.@\s]", text.strip().casefold(), maxsplit=1)[0]
    if base in ISO_639_1:
        return base
    codes = {name.casefold(): code for code, name in ISO_639_1.items()} | _OTHER_NAMES
    if base in codes or len(base) < _MIN_NAME_CHARS:
        return codes.get(base)
    begun = [name for name in codes if name.startswith(base)]
    near = begun or get_close_matches(base[:_MAX_NAME_CHARS], codes, n=1, cutoff=0.75)
    return codes[near[0]] if near else None
