"""Lecture 5: tuples, lists, aliasing, mutability and cloning."""

import copy


def quotient_and_remainder(a, b):
    """Return how often b fits into a, and what is left over, as a tuple."""
    return a // b, a % b


def show_aliasing():
    """Tie two names to one list and change it through the second."""
    monday = ["bread", "milk"]
    tuesday = monday
    tuesday.append("candles")
    print("monday:", monday, "| same object:", monday is tuesday)


def show_cloning():
    """Make independent lists: shallow for flat lists, deep for nested ones."""
    north = ["oak", "ash"]
    plan = north[:]
    plan.append("birch")
    print("north:", north, "| plan:", plan)

    grid = [[0, 0], [0, 0]]
    shallow, deep = grid[:], copy.deepcopy(grid)
    grid[0][0] = 9
    print("shallow copy:", shallow, "| deep copy:", deep)


def add_bonus(scores, bonus=5):
    """Add the bonus to every score. Changes the list that it is given."""
    for i in range(len(scores)):
        scores[i] += bonus


def with_bonus(scores, bonus=5):
    """Return a new list with the bonus added to every score."""
    return [score + bonus for score in scores]


def remove_negatives_wrongly(numbers):
    """Remove from the list while looping over it, so that some items are never looked at."""
    for n in numbers:
        if n < 0:
            numbers.remove(n)
    return numbers


def remove_negatives(numbers):
    """Return a new list without the negative numbers."""
    return [n for n in numbers if n >= 0]


def without_duplicates(items):
    """Return a new list with the first occurrence of each item."""
    seen = []
    for item in items:
        if item not in seen:
            seen.append(item)
    return seen


if __name__ == "__main__":
    hours, minutes = quotient_and_remainder(200, 60)
    print(f"200 minutes are {hours} h {minutes} min")
    show_aliasing()
    show_cloning()
    exam = [50, 61]
    better = with_bonus(exam)
    add_bonus(exam)
    print("changed:", exam, "| new:", better)
    print("wrong:", remove_negatives_wrongly([4, -1, -2, 7]), "| right:", remove_negatives([4, -1, -2, 7]))
    print(without_duplicates([3, 1, 3, 2, 1]))
