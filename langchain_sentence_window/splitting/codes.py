"""Language codes: which exist, which a library knows, and which one was likely meant."""

import re
from difflib import get_close_matches

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.language import known_languages

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
