"""Which language a text is taken to be in, and what splits it where the rules of its language aren't installed."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import py3langid
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinsplit import Document, Index, create_strategy
from kinsplit.errors import SchemaMismatchError
from kinsplit.integrations.langchain import text_splitter
from kinsplit.integrations.llama_index import node_parser
from kinsplit.parsers import default_strategy
from kinsplit.parsers.units import sentences as module
from kinsplit.parsers.units.languages import LANGUAGES, OTHER, _ngrams, detect_language, rank_languages
from kinsplit.parsers.units.punkt import PUNKT_LANGUAGES
from kinsplit.parsers.units.sentences import SentenceWarning, sentence_splitter, sentences
from tests.generators import texts

# Prose of more than two hundred letters.
PROSE = {
    "de": (
        "Eulen jagen in der Nacht, weil sie dann besser hören als ihre Beute. Am Tage ruhen sie in alten Bäumen "
        "oder in Scheunen, wo niemand sie stört. Ihr Flug ist beinahe lautlos, denn die Ränder ihrer Federn sind "
        "weich und brechen den Wind. Mäuse bemerken die Gefahr erst, wenn es zu spät ist."
    ),
    "en": (
        "Owls hunt at night since they hear better than their prey. By day, some rest inside hollow trees or "
        "quiet barns, where nobody disturbs them. Flying, an owl makes hardly any noise: soft feathers break "
        "every gust. Mice notice danger only once escape is impossible."
    ),
    "fr": (
        "Les chouettes chassent la nuit parce qu'elles entendent mieux que leurs proies. Le jour, elles se "
        "reposent dans de vieux arbres ou dans des granges où personne ne les dérange. Leur vol est presque "
        "silencieux, car les bords de leurs plumes sont souples et brisent le vent."
    ),
    "pt": (
        "As corujas caçam à noite porque ouvem melhor do que as suas presas. Durante o dia descansam em árvores "
        "velhas ou em celeiros, onde ninguém as incomoda. O seu voo é quase silencioso, pois as margens das penas "
        "são macias e quebram o vento que passa. Os ratos só notam o perigo quando já é tarde demais para fugir."
    ),
    "tr": (
        "Baykuşlar geceleri avlanır, çünkü avlarından daha iyi duyarlar. Gündüzleri kimsenin rahatsız etmediği "
        "yaşlı ağaçlarda ya da ahırlarda dinlenirler. Uçuşları neredeyse sessizdir; tüylerinin kenarları "
        "yumuşaktır ve rüzgârı kırar. Fareler tehlikeyi ancak iş işten geçince fark eder."
    ),
    "ru": (
        "Совы охотятся ночью, потому что слышат лучше, чем их добыча. Днём они отдыхают в старых деревьях или в "
        "сараях, где их никто не тревожит. Полёт их почти бесшумен: края перьев мягкие и рассекают ветер. Мыши "
        "замечают опасность только тогда, когда уже слишком поздно."
    ),
    "el": "Οι κουκουβάγιες κυνηγούν τη νύχτα. Τη μέρα ξεκουράζονται σε γέρικα δέντρα.",
    OTHER: (
        "A baglyok éjszaka vadásznak, mert jobban hallanak, mint a zsákmányuk. Nappal öreg fákban vagy csűrökben "
        "pihennek, ahol senki sem zavarja őket. Röptük szinte hangtalan, mert tollaik széle puha, és megtöri a "
        "szelet. Az egerek csak akkor veszik észre a veszélyt, amikor már késő."
    ),
    "pl": (
        "Sowy polują nocą, bo słyszą lepiej niż ich ofiary. W dzień odpoczywają w starych drzewach albo w "
        "stodołach, gdzie nikt im nie przeszkadza. Ich lot jest prawie bezgłośny, ponieważ brzegi piór są miękkie "
        "i łamią wiatr. Myszy zauważają niebezpieczeństwo dopiero wtedy, gdy jest już za późno."
    ),
}
OTHERS = {
    "uk": (
        "Сови полюють уночі, бо чують краще за свою здобич. Удень вони відпочивають у старих деревах або в "
        "стодолах, де їх ніхто не турбує. Політ їхній майже безшумний: краї пір'я м'які й розтинають вітер. Миші "
        "помічають небезпеку лише тоді, коли вже запізно тікати."
    ),
    "ro": (
        "Bufnițele vânează noaptea, fiindcă aud mai bine decât prada lor. Ziua se odihnesc în copaci bătrâni sau "
        "în șuri, unde nimeni nu le tulbură. Zborul lor este aproape fără zgomot, căci marginile penelor sunt moi "
        "și frâng vântul. Șoarecii observă primejdia abia când este prea târziu."
    ),
    "hr": (
        "Sove love noću jer čuju bolje od svojega plijena. Danju se odmaraju u starim stablima ili u stajama, "
        "gdje ih nitko ne uznemiruje. Let im je gotovo nečujan, jer su rubovi perja mekani i lome vjetar. Miševi "
        "opaze opasnost tek kad je već prekasno za bijeg. Svakoga proljeća ženka polaže četiri bijela jaja."
    ),
    "id": (
        "Burung hantu berburu pada malam hari karena pendengarannya lebih baik daripada mangsanya. Pada siang "
        "hari mereka beristirahat di pohon tua atau lumbung, tempat tidak ada yang mengganggu. Terbangnya hampir "
        "tanpa suara karena tepi bulunya lembut dan memecah angin."
    ),
    "ja": "猫がマットに座る。犬は外にいる。",
    "zh": "猫坐在垫子上。狗在外面。",
    "ar": "القط على الحصيرة. الكلب في الخارج.",
    "hi": "बिल्ली चटाई पर है। कुत्ता बाहर है।",
    "ka": "კატა ზის. ძაღლი გარეთაა.",
    "am": "ድመቷ ተቀምጣለች። ውሻው ውጭ ነው።",
    "km": "ឆ្មា​អង្គុយ។ ឆ្កែ​នៅ​ក្រៅ។",
    "my": "ကြောင်ထိုင်သည်။ ခွေးအပြင်မှာရှိသည်။",
    "bo": "ཞི་མི་འདུག །ཁྱི་ཕྱི་ལ་ཡོད། །",
    "hy": "Կատուն նստած է։ Շունը դրսում է։",
    "ur": "بلی بیٹھی ہے۔ کتا باہر ہے۔",
    "he": "החתול יושב. הכלב בחוץ.",
    "ko": "고양이가 앉아 있다. 개는 밖에 있다.",
}
# Repeated, short and list-like texts, in which a detector sees any language.
UNCLEAR = [
    *(
        "Owls hunt. " * 100,
        "Owls hunt.",
        "Test document. " * 50,
        "foo bar baz. " * 50,
        "word " * 1000,
        "A" * 5000,
        "Yes. No.",
    ),
    *(
        "Maria Kovalenko. Ivan Petrov. Aiko Tanaka. " * 10,
        "Strix aluco. Bubo bubo. Tyto alba. Athene noctua.",
        "a. b. c.",
    ),
    *(
        "Pasta al pomodoro. Pad thai. Kimchi. Gyoza. Ramen.",
        "def f(x):\n    return x + 1\n",
        "1 2 3. 4 5.",
        "",
        "?",
        "🦉" * 300,
    ),
    (
        "Cambodia. Cameroon. Canada. Chad. Chile. China. Colombia. Comoros. Croatia. Cuba. Cyprus. Denmark. "
        "Djibouti. Ecuador. Egypt. Eritrea. Estonia. Ethiopia. Fiji. Finland. France. Gabon. Gambia. Georgia. "
        "Germany. Ghana. Greece. Grenada. Guatemala. Guinea. Guyana. Haiti. Honduras. Hungary. Iceland. India. "
        "Indonesia. Iran. Iraq. Ireland. Israel. Italy."
    ),
    "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVoxMjM0NTY3ODkw" * 40,
    "ACGTTGCAAGCTTAGCCTAGGATCCGATTAGCTTAGGCATCGATCGGATATCGCGCTAGC " * 30,
    "2024-01-01 12:00:01 INFO server started pid=1\n2024-01-01 12:00:02 WARN disk 91%\n" * 20,
]


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without the extra `languages`."""
    monkeypatch.setitem(sys.modules, "sentencex", None)
    for cached in (module._sentencex, module._warn_without_extra):
        cached.cache_clear()
    yield
    for cached in (module._sentencex, module._warn_without_extra):
        cached.cache_clear()


def split(text: str, language: str = "auto") -> list[str]:
    units = sentences(text, language)
    return [text[start:end] for start, end in zip(units.starts.tolist(), units.ends.tolist(), strict=True)]


@pytest.mark.parametrize(("language", "text"), [*PROSE.items(), *((OTHER, text) for text in OTHERS.values())])
def test_a_language_is_detected_if_punkt_has_a_model_of_it(language: str, text: str) -> None:
    assert detect_language(text) == language


@pytest.mark.parametrize("text", UNCLEAR, ids=lambda text: text[:12])
def test_what_is_too_short_or_unlike_any_language_counts_as_english(text: str) -> None:
    assert detect_language(text) == "en"


@pytest.mark.usefixtures("base")
@pytest.mark.parametrize(
    "text", ["No. No. No. word word. Yes.", "Hello. Bye.", "TODO: fix it. Then test.", "a = 1. b = 2."]
)
def test_no_text_needs_the_extra_in_the_frameworks(text: str) -> None:
    assert text_splitter().split_text(text) == node_parser().split_text(text) == [text]


def test_a_language_is_not_believed_from_few_different_words() -> None:
    text = PROSE[OTHER][:120]
    assert detect_language(text) == detect_language(text * 20) == "en"
    assert detect_language(OTHERS["uk"][:60] * 20) == "ru"


def test_languages_are_ranked_as_by_the_model_that_their_ngrams_are_from() -> None:
    theirs = {text: py3langid.classify(text)[0] for text in (*PROSE.values(), *OTHERS.values())}
    ours = {text: max(found, key=found.__getitem__) for text in theirs if (found := rank_languages(text))}
    assert len(ours) > 11
    assert ours == {text: language for text, language in theirs.items() if text in ours}


def test_every_language_of_two_letters_that_is_detected_can_be_named() -> None:
    detected = {code for code in _ngrams().probabilities("owl") if len(code) == 2}
    assert len(detected) > 90
    assert detected <= LANGUAGES
    assert PUNKT_LANGUAGES.keys() <= LANGUAGES


@pytest.mark.usefixtures("base")
@pytest.mark.filterwarnings("ignore::kinsplit.parsers.units.sentences.SentenceWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(texts(), st.sampled_from(["auto", *sorted(LANGUAGES)]))
def test_no_text_and_no_language_takes_an_extra(text: str, language: str) -> None:
    units = sentences(text, language)
    starts, ends = units.starts.tolist(), units.ends.tolist()
    assert all(start < end for start, end in zip(starts, ends, strict=True))
    assert all(not text[end:start].strip() for end, start in zip([0, *ends], [*starts, len(text)], strict=True))


@pytest.mark.usefixtures("base")
@pytest.mark.parametrize("language", OTHERS)
def test_a_base_installation_splits_by_the_marks_of_a_script(language: str) -> None:
    text = OTHERS[language]
    count = max(2, text.count(". ") + 1)
    with pytest.warns(SentenceWarning, match=r'pip install "kinsplit\[languages\]"$'):
        found = split(text)
    assert len(found) == count
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # It was the only one of this process.
        assert split(text, language) == found


@pytest.mark.usefixtures("base")
def test_a_base_installation_warns_of_no_text_in_a_language_of_punkt() -> None:
    for text in (*UNCLEAR, *(text for language, text in PROSE.items() if language != OTHER)):
        split(text)
        split(text, "de")


def test_what_finds_the_sentences_is_part_of_the_fingerprint(request: pytest.FixtureRequest) -> None:
    def fingerprints() -> dict[str, str]:
        names = ("auto", "de", "uk")
        return {name: create_strategy("sentence", language=name).fingerprint for name in names}

    full = fingerprints()
    assert sentence_splitter("uk").startswith("sentencex ")
    request.getfixturevalue("base")
    assert {name for name, own in fingerprints().items() if own != full[name]} == {"uk"}
    assert sentence_splitter("uk") == "uax29"
    assert create_strategy("word").sentence_splitter is None


@pytest.mark.filterwarnings("ignore::kinsplit.parsers.units.sentences.SentenceWarning")
def test_an_unnamed_language_gives_the_same_chunks_in_every_installation(request: pytest.FixtureRequest) -> None:
    strategy = default_strategy(chunk_size=20)
    everything = [*PROSE.values(), *OTHERS.values(), *UNCLEAR]
    full = strategy.chunk_many(everything)
    request.getfixturevalue("base")
    assert default_strategy(chunk_size=20).chunk_many(everything) == full


@pytest.mark.filterwarnings("ignore::kinsplit.parsers.units.sentences.SentenceWarning")
def test_a_collection_with_the_sentences_of_another_installation_is_searched_but_not_filled(
    tmp_path: object, request: pytest.FixtureRequest
) -> None:
    address, document = f"edge:{tmp_path}/data", Document("owls", OTHERS["uk"])
    strategy = create_strategy("sentence", language="uk", chunk_size=20)
    with Index(address, strategy=strategy, embedder="hash") as index:
        assert index.add(document).added
    request.getfixturevalue("base")
    with Index(address, embedder="hash") as index:
        assert index.search("Сови")
        with pytest.raises(SchemaMismatchError, match=r"found by sentencex .* this installation has uax29"):
            index.add(document)
    strategy = create_strategy("sentence", language="uk", chunk_size=20)
    with pytest.raises(SchemaMismatchError, match=r"sentences is 'sentencex .*' there and 'uax29' here"):
        Index(address, strategy=strategy, embedder="hash")
