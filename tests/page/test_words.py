"""Every language says all that the page says, and `exact` is told of in the same words everywhere."""

import re

import pytest

from gridsum.config.exact import ConsolidationConfig
from gridsum.model.store import SHIPPED
from gridsum.page.site import LANGUAGES, OPERATIONS, WEB, words

ROOT = SHIPPED.parents[2]
_CALL = r"""(?:\b(?:t|text)\(|data-t(?:-[a-z-]+)?=|\? |: |\[|, )["']([a-z]+\.[\w.-]+)["']"""


def values_in(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def keys_of(texts: dict[str, str]) -> set[str]:
    """What texts are asked for by: those that differ by number have one key."""
    return {key.rpartition(".")[0] if f"{key.rpartition('.')[0]}.other" in texts else key for key in texts}


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_no_text_is_missing_in_any_language(language: str):
    ours, theirs = words("en"), words(language)
    assert keys_of(ours) == keys_of(theirs)
    names = ours.keys() & theirs.keys()
    facts = {"polish"}  # in English this number stands in the words that are told everywhere
    assert [key for key in names if (values_in(ours[key]) ^ values_in(theirs[key])) - facts] == []
    assert [key for key in names if re.findall("<[^>]*>", ours[key]) != re.findall("<[^>]*>", theirs[key])] == []
    assert sum(ours[key] == theirs[key] for key in names) < 0.05 * len(names), "these are translated"


def test_what_is_asked_for_is_there_and_what_is_there_is_asked_for():
    texts = keys_of(words("en"))
    sources = "".join(path.read_text() for path in [*WEB.glob("*.js"), WEB / "index.html"])
    sections = {key.partition(".")[0] for key in texts}
    asked = {key for key in re.findall(_CALL, sources) if key.partition(".")[0] in sections}
    made = tuple(re.findall(r"`([a-z]+\.[a-z-]*)\$\{", sources))  # keys that end in what is looked up
    assert asked - texts == set()
    of_addition = {re.sub(f"-({'|'.join(OPERATIONS)})$", "", key) for key in texts}  # another rule has its own for some
    assert [key for key in of_addition if key not in asked and not key.startswith(made)] == []
    own = {key.removesuffix("subtract") for key in texts if key.endswith("-subtract")}
    assert {f"{key}{kind}" for key in own for kind in OPERATIONS[1:]} <= texts, "what is not so of both is said of each"


def test_what_exact_was_given_is_told_in_the_same_words_everywhere():
    texts, told = words("en"), {"given": "given", "learned": "learned", "polished": "polished afterwards"}
    assert f"{ConsolidationConfig().problems:,}" in texts["honest.polished-text"]
    documents = {name: (ROOT / name).read_text() for name in ("README.md", "docs/exact.md")}
    for key, heading in told.items():
        text = texts[f"honest.{key}-text"]
        for name, document in documents.items():
            assert f"| **{heading}** | {text[0].lower()}{text[1:-1]} |" in document, name
