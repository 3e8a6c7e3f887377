"""Lecture 6: recursion, dictionaries and memoisation."""

from functools import cache

RHYME = """
the rain in the lane fell again and again
and the lane in the rain was a lake
"""


def factorial(n):
    """Return the product 1 * 2 * ... * n, for a whole number n >= 1."""
    if n == 1:
        return 1
    return n * factorial(n - 1)


def hanoi(n, source, target, spare):
    """Return the moves that bring n discs from source to target."""
    if n == 0:
        return []
    before = hanoi(n - 1, source, spare, target)
    after = hanoi(n - 1, spare, target, source)
    return before + [(source, target)] + after


def is_palindrome(text):
    """Return True if text, given in small letters only, reads the same backwards."""
    if len(text) < 2:
        return True
    return text[0] == text[-1] and is_palindrome(text[1:-1])


def frequencies(words):
    """Return a dictionary from each word to the number of its occurrences."""
    counts = {}
    for word in words:
        counts[word] = counts.get(word, 0) + 1
    return counts


def most_frequent(counts, how_many):
    """Return the (word, count) pairs of the most frequent words, in falling order of count."""
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return ranked[:how_many]


def inverted(mapping):
    """Return a dictionary from each value to the list of its keys."""
    result = {}
    for key, value in mapping.items():
        result.setdefault(value, []).append(key)
    return result


def fib(n, calls):
    """Return the n-th Fibonacci number the slow way, adding 1 to calls["plain"] for every call."""
    calls["plain"] += 1
    if n <= 2:
        return 1
    return fib(n - 1, calls) + fib(n - 2, calls)


def fib_memo(n, calls, memo=None):
    """Return the n-th Fibonacci number, computing each number once."""
    calls["memo"] += 1
    if memo is None:
        memo = {1: 1, 2: 1}
    if n not in memo:
        memo[n] = fib_memo(n - 1, calls, memo) + fib_memo(n - 2, calls, memo)
    return memo[n]


@cache
def fib_cached(n):
    """Return the n-th Fibonacci number, remembered by the standard library."""
    return 1 if n <= 2 else fib_cached(n - 1) + fib_cached(n - 2)


if __name__ == "__main__":
    print("4! =", factorial(4))
    print("Hanoi with 3 discs:", hanoi(3, "A", "C", "B"))
    print("Hanoi with 10 discs needs", len(hanoi(10, "A", "C", "B")), "moves")
    print(is_palindrome("neveroddoreven"), is_palindrome("python"))
    print(most_frequent(frequencies(RHYME.split()), 3))
    print(inverted({"physics": 2, "library": 1, "canteen": 1}))
    for n in (10, 20):
        calls = {"plain": 0, "memo": 0}
        print(f"fib({n}) = {fib(n, calls)} = {fib_memo(n, calls)} in {calls}")
    print("fib(100) =", fib_cached(100))
