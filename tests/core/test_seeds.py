import numpy as np

from slide_gui.core.estimators import seed_of


def test_that_none_is_zero_numbers_are_kept_and_a_generator_draws_its_next():
    assert seed_of(None) == 0
    assert [seed_of(seed) for seed in (0, 7, np.int64(7))] == [0, 7, 7]
    assert type(seed_of(np.int64(7))) is int
    state = np.random.RandomState(3)
    drawn = [seed_of(state), seed_of(state)]
    oracle = np.random.RandomState(3)
    assert drawn == [oracle.randint(2**31 - 1) for _ in range(2)]
