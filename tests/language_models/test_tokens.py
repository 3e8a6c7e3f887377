"""Tokens of a model whose tokenizer isn't here are counted as rather too many."""

from __future__ import annotations

import pytest
from llama_index.core.utils import get_tokenizer

from kinsplit.answering.prompt import PLANNED
from kinsplit.tokenizers.registry import count_tokens

TEXTS = {
    "English": "The smallest item of a heap stands on top. ",
    "German": "Das kleinste Element eines Haufens steht oben, über allen übrigen. ",
    "Vietnamese": "Phần tử nhỏ nhất của một đống nằm ở trên cùng. ",
    "Greek": "Το μικρότερο στοιχείο ενός σωρού βρίσκεται στην κορυφή. ",
    "Russian": "Наименьший элемент кучи находится на вершине. ",
    "Hebrew": "האיבר הקטן ביותר בערימה עומד למעלה. ",
    "Arabic": "أصغر عنصر في الكومة يقع في القمة. ",
    "Hindi": "ढेर का सबसे छोटा तत्व शीर्ष पर होता है। ",
    "Thai": "สมาชิกที่เล็กที่สุดของฮีปอยู่ด้านบนสุด",
    "Burmese": "အသေးငယ်ဆုံးအရာသည် အပေါ်ဆုံးတွင် ရှိသည်။",
    "Khmer": "ធាតុតូចបំផុតនៃគំនរស្ថិតនៅកំពូល",
    "Amharic": "ትንሹ ነገር ከላይ ይቆማል፤ እያንዳንዱ ወላጅ ከልጆቹ ያነሰ ነውና። ",
    "Georgian": "გროვის უმცირესი ელემენტი ზემოთ დგას. ",
    "Chinese": "堆的最小元素位于顶部，因为每个父节点都小于其子节点。",
    "Japanese": "ヒープの最小の要素は一番上にあります。",
    "Korean": "힙의 가장 작은 항목은 맨 위에 있습니다. ",
    "emoji": "🙂👍🎉🚀💯🔥✨🧠 ",
    "signs": "∀x∈ℝ: ∑ᵢ₌₁ⁿ xᵢ² ≤ ∫₀^∞ f(t)dt ⇒ ‖x‖₂ ≥ 0 ",
    "code": "def heappush(heap, item):\n    heap.append(item)\n",
    "digits": "a9f3c2e17b6d4805fe21 9c0d ",
    "surrogates": "\ud83d heap \udc4d ",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_model_has_no_more_tokens_than_the_window_leaves_room_for(text: str) -> None:
    text *= 20
    real = len(get_tokenizer()(text.encode("utf-8", "replace").decode()))
    assert PLANNED * real <= count_tokens(text) <= 4 * real
