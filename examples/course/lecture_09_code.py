"""Lecture 9: inheritance and generators."""

from abc import ABC, abstractmethod
from itertools import islice


class Vehicle:
    """Something that carries passengers along a line."""

    def __init__(self, line, seats):
        self.line = line
        self.seats = seats
        self.passengers = 0

    def free_seats(self):
        """Return how many more people may board."""
        return self.seats - self.passengers

    def board(self, people):
        """Let people in. Raises ValueError if there is no room for them."""
        if people > self.free_seats():
            raise ValueError(f"{self.free_seats()} seats are free, not {people}")
        self.passengers += people

    def sign(self):
        """Return the text above the windscreen."""
        return f"Line {self.line}"


class Tram(Vehicle):
    """A tram, in which people may stand as well."""

    def __init__(self, line, seats, standing):
        super().__init__(line, seats)
        self.standing = standing

    def free_seats(self):
        return super().free_seats() + self.standing


class NightBus(Vehicle):
    """A bus after midnight."""

    def sign(self):
        return f"N{self.line} (night service)"


class Shape(ABC):
    """Something that has an area and can be painted."""

    @abstractmethod
    def area(self):
        """Return the area in square metres."""

    def paint_needed(self, square_metres_per_litre=8):
        """Return the litres of paint for one coat."""
        return self.area() / square_metres_per_litre


class Square(Shape):
    """A square with a given side in metres."""

    def __init__(self, side):
        self.side = side

    def area(self):
        return self.side**2


class Fleet:
    """Vehicles; a loop over the fleet visits those that have room."""

    def __init__(self, vehicles):
        self._vehicles = list(vehicles)

    def __iter__(self):
        for vehicle in self._vehicles:
            if vehicle.free_seats() > 0:
                yield vehicle


def primes():
    """Yield the prime numbers, without end."""
    found = []
    n = 2
    while True:
        if all(n % p for p in found):
            found.append(n)
            yield n
        n += 1


def stripped(lines):
    """Yield the lines without spaces at their ends."""
    for line in lines:
        yield line.strip()


def numbers(lines):
    """Yield the numbers in the lines, without comments and empty lines."""
    for line in lines:
        if line and not line.startswith("#"):
            yield float(line)


if __name__ == "__main__":
    night = NightBus(7, 40)
    night.board(40)
    for vehicle in (Vehicle(3, 50), Tram(11, 60, 90), night):
        print(vehicle.sign(), vehicle.free_seats())
    print("With room:", [vehicle.sign() for vehicle in Fleet([Vehicle(3, 50), night])])
    print("Litres of paint:", Square(4).paint_needed())
    print(list(islice(primes(), 10)))
    print(sum(numbers(stripped(["3", " # a comment", "4.5"]))))
