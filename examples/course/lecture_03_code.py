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


def rabbits_and_chickens(heads, feet):
    """Solve the cage puzzle by exhaustive enumeration: the numbers of rabbits and chickens, or None."""
    for rabbits in range(heads + 1):
        chickens = heads - rabbits
        if 4 * rabbits + 2 * chickens == feet:
            return rabbits, chickens
    return None


def number_plus_cube(goal, epsilon=0.01, step=0.0001):
    """Find x with x**3 + x close to the goal in small steps, or None if the steps leap over it."""
    x = 0.0
    while abs(x**3 + x - goal) >= epsilon and x <= goal:
        x += step
    return x if abs(x**3 + x - goal) < epsilon else None


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
    print("35 heads, 94 feet:", rabbits_and_chickens(35, 94))
    print("35 heads, 93 feet:", rabbits_and_chickens(35, 93))
    print(f"{number_plus_cube(20):.4f} plus its cube is close to 20")
    print("With steps of 0.1:", number_plus_cube(20, step=0.1))
    print("From 27 to 1 in", collatz_steps(27), "steps")
    print_table(3, 5)
