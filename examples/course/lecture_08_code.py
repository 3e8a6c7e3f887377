"""Lecture 8: classes, instances, special methods and encapsulation."""


class Timer:
    """A kitchen timer that counts down to zero."""

    def __init__(self, seconds):
        self.remaining = seconds

    def tick(self):
        """Let one second pass."""
        if self.remaining > 0:
            self.remaining -= 1

    def is_ringing(self):
        """Tell whether the time is up."""
        return self.remaining == 0


class Money:
    """An amount of euros and cents, kept exactly."""

    def __init__(self, euros, cents=0):
        self._cents = 100 * euros + cents

    def __add__(self, other):
        return Money(0, self._cents + other._cents)

    def __mul__(self, factor):
        return Money(0, self._cents * factor)

    def __eq__(self, other):
        return isinstance(other, Money) and self._cents == other._cents

    def __lt__(self, other):
        return self._cents < other._cents

    def __str__(self):
        return f"{self._cents // 100}.{self._cents % 100:02d} EUR"

    def __repr__(self):
        return f"Money({self._cents // 100}, {self._cents % 100})"


class Thermostat:
    """A thermostat that refuses temperatures outside 5 to 30 degrees."""

    def __init__(self, celsius):
        self.celsius = celsius

    @property
    def celsius(self):
        """The temperature that is wanted."""
        return self._celsius

    @celsius.setter
    def celsius(self, value):
        if not 5 <= value <= 30:
            raise ValueError(f"the thermostat takes 5 to 30 degrees, not {value}")
        self._celsius = value


class Book:
    """A book that is on the shelf or with a reader."""

    def __init__(self, title, author):
        self.title = title
        self.author = author
        self.reader = None

    def is_available(self):
        """Tell whether the book is on the shelf."""
        return self.reader is None


class Library:
    """A collection of books that can be borrowed and given back by title."""

    def __init__(self, books):
        self._books = {book.title: book for book in books}

    def borrow(self, title, reader):
        """Note that a reader takes the book. Raises ValueError if it is out."""
        book = self._books[title]
        if not book.is_available():
            raise ValueError(f"{title!r} is with {book.reader}")
        book.reader = reader

    def give_back(self, title):
        """Put the book back on the shelf."""
        self._books[title].reader = None

    def available(self):
        """List the titles on the shelf."""
        return [book.title for book in self._books.values() if book.is_available()]


if __name__ == "__main__":
    egg, pasta = Timer(300), Timer(540)
    egg.tick()
    Timer.tick(egg)
    print(egg.remaining, pasta.remaining, egg.is_ringing())

    coffee, cake = Money(2, 80), Money(3, 45)
    print(coffee + cake, coffee * 3 < cake + cake, sorted([cake, coffee]))

    room = Thermostat(21)
    try:
        room.celsius = 210
    except ValueError as error:
        print("Refused:", error)

    library = Library([Book("Emma", "Austen"), Book("Dracula", "Stoker")])
    library.borrow("Emma", "Grace")
    print(library.available())
