"""Lecture 11: searching and sorting, with the number of looks and comparisons."""

import random


def linear_search(items, target):
    """Return the position of target in items, or None if it is not there."""
    for position, item in enumerate(items):
        if item == target:
            return position
    return None


def binary_search(items, target):
    """Return a position of target in the sorted list items, or None if it is not there."""
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] == target:
            return middle
        if items[middle] < target:
            low = middle + 1
        else:
            high = middle
    return None


def looks_of_binary_search(n):
    """Return how many items of a list of length n binary search looks at in the worst case."""
    looks = 0
    while n > 0:
        n //= 2
        looks += 1
    return looks


def bisect_root(x, epsilon=1e-9):
    """Return the square root of x >= 0 with an error of at most epsilon."""
    low, high = 0.0, max(1.0, x)
    while high - low > epsilon:
        middle = (low + high) / 2
        if middle * middle < x:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def selection_sort(items):
    """Sort the list items in place."""
    for start in range(len(items)):
        smallest = start
        for i in range(start + 1, len(items)):
            if items[i] < items[smallest]:
                smallest = i
        items[start], items[smallest] = items[smallest], items[start]


def merge(left, right):
    """Return one sorted list with the items of two sorted lists."""
    result = []
    i = j = 0
    while i < len(left) and j < len(right):
        if right[j] < left[i]:
            result.append(right[j])
            j += 1
        else:
            result.append(left[i])
            i += 1
    return result + left[i:] + right[j:]


def merge_sort(items):
    """Return a new, sorted list with the given items."""
    if len(items) < 2:
        return list(items)
    middle = len(items) // 2
    return merge(merge_sort(items[:middle]), merge_sort(items[middle:]))


class Counted:
    """A number that counts how often it and its like are compared."""

    comparisons = 0

    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        Counted.comparisons += 1
        return self.value < other.value


def comparisons(sort, values):
    """Return how many comparisons a sort makes for the values."""
    Counted.comparisons = 0
    sort([Counted(value) for value in values])
    return Counted.comparisons


if __name__ == "__main__":
    numbers = [3, 8, 12, 17, 23, 29, 35, 41, 48, 56, 60]
    print("41 is at", linear_search(numbers, 41), "and at", binary_search(numbers, 41))
    print("13 is at", binary_search(numbers, 13))
    for n in (10, 1_000, 1_000_000, 1_000_000_000):
        print(f"{n:>13,} items: {looks_of_binary_search(n)} looks")
    print(f"The square root of 2 is {bisect_root(2):.6f}")

    rng = random.Random(11)
    for n in (100, 200, 400):
        values = [rng.random() for _ in range(n)]
        print(n, "values:", comparisons(selection_sort, values), "or", comparisons(merge_sort, values), "comparisons")
