"""Lecture 1: running Python, values and types."""

import math


def square_root(x, tolerance=0.0001):
    """Find the square root of x by averaging a guess with x divided by the guess."""
    guess = x / 2
    while abs(guess * guess - x) > tolerance:
        guess = (guess + x / guess) / 2
    return guess


def show_types():
    """Print some values that look alike, with their types."""
    for value in (42, 42.0, "42", True, None):
        print(repr(value), "has the type", type(value).__name__)


def show_conversions():
    """Convert between types: int() cuts, round() rounds, str() gives text."""
    print(int("42") + 1)
    print(int(3.99), round(3.99))
    print(str(3.5) + " metres")


def show_float_surprise():
    """Floats are binary approximations: ask whether they are close, not whether they are equal."""
    total = 0.1 + 0.2
    print(total, total == 0.3, math.isclose(total, 0.3))


if __name__ == "__main__":
    print("Hello, world")
    print("Seven days have", 7 * 24, "hours")
    show_types()
    show_conversions()
    show_float_surprise()
    print("The square root of 10 is close to", square_root(10))
