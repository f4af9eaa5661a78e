"""What the wrappers of other libraries' graders share."""

from __future__ import annotations

from guerdon.reward.versioning.snapshot import DependencySnapshot
from guerdon.trainers.foreign.base import fingerprint_data_of, slug


def test_the_fingerprint_follows_the_users_own_source_and_not_addresses() -> None:
    class Held:
        def __init__(self) -> None:
            self.mine = f"made at {id(self)}"
            self.limit = 4

        def __call__(self) -> int:
            return self.limit

    fingerprints = [fingerprint_data_of(held, __name__, DependencySnapshot()) for held in (Held(), Held())]
    assert fingerprints[0] == fingerprints[1]
    assert fingerprints[0][1].endswith("Held")
    assert slug("JSONDiff") == "json_diff"
