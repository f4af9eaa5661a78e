"""A budget over all connections: the request that has been arriving longest goes first."""

from __future__ import annotations

from guerdon.serve.http.memory_budget import LEAST_BYTES, MemoryBudget


class Peer:
    def __init__(self) -> None:
        self.evicted = False

    def evict(self) -> None:
        self.evicted = True


def test_the_oldest_goes_until_all_fit() -> None:
    budget = MemoryBudget(100)
    peers = [Peer() for _ in range(4)]
    for peer in peers[:3]:
        budget.hold(peer, 30)
    budget.hold(peers[0], 40)
    assert (budget.held, [peer.evicted for peer in peers]) == (100, [False] * 4)
    budget.hold(peers[3], 50)
    assert (budget.held, [peer.evicted for peer in peers]) == (80, [True, True, False, False])
    budget.release(peers[3])
    budget.release(peers[3])
    assert budget.held == 30


def test_one_request_that_is_larger_than_the_budget_goes_itself() -> None:
    budget, peer = MemoryBudget(100), Peer()
    budget.hold(peer, 101)
    assert (budget.held, peer.evicted) == (0, True)


def test_a_budget_has_room_for_some_bodies() -> None:
    assert MemoryBudget.for_bodies(1).limit == LEAST_BYTES
    assert MemoryBudget.for_bodies(LEAST_BYTES).limit == 4 * LEAST_BYTES
