"""Lecture 3: branching and loops."""


def letter_grade(points):
    """Give the grade for some points; the first true condition wins."""
    if points >= 90:
        return "A"
    elif points >= 75:
        return "B"
    elif points >= 60:
        return "C"
    else:
        return "F"


def sum_up_to(n):
    """Add the numbers 1 to n with an accumulator."""
    total = 0
    for k in range(1, n + 1):
        total += k
    return total


def smallest_divisor(n):
    """Give the smallest divisor of n above 1, or n itself if it is prime."""
    for divisor in range(2, n):
        if n % divisor == 0:
            return divisor
    return n


def cube_root_exact(cube):
    """Find a whole cube root by exhaustive enumeration, or None."""
    guess = 0
    while guess**3 < abs(cube):
        guess += 1
    if guess**3 != abs(cube):
        return None
    return -guess if cube < 0 else guess


def cube_root_close(cube, epsilon=0.01, step=0.0001):
    """Approach the cube root of a positive number in small steps, or give None if the steps leap over it."""
    guess = 0.0
    while abs(guess**3 - cube) >= epsilon and guess <= cube:
        guess += step
    return guess if abs(guess**3 - cube) < epsilon else None


def collatz_steps(n):
    """Count the steps of the Collatz game from n down to 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def print_table(rows, columns):
    """Print a multiplication table with two nested loops."""
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            print(f"{row * column:4}", end="")
        print()


if __name__ == "__main__":
    print([letter_grade(points) for points in (95, 80, 60, 12)])
    print("1 + 2 + ... + 100 =", sum_up_to(100))
    print("The smallest divisor of 91 is", smallest_divisor(91))
    print("Cube roots of 2744, -27, 20:", cube_root_exact(2744), cube_root_exact(-27), cube_root_exact(20))
    print(f"20 has a cube root close to {cube_root_close(20):.4f}")
    print("From 27 to 1 in", collatz_steps(27), "steps")
    print_table(3, 5)
