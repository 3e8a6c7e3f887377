import pytest

pytest.register_assert_rewrite("kinsplit.stores.testing")
