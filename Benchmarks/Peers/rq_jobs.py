"""The jobs of RQ for Benchmarks/compare."""
from producing import note_wait


def noop(number, text):
    pass


def stamp(begun):
    note_wait(begun)
