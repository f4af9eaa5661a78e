"""A budget over all connections: the request that has been arriving longest goes first."""

from __future__ import annotations

from guerdon.serve.http.memory_budget import MemoryBudget


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
    assert (budget.used, [peer.evicted for peer in peers]) == (100, [False] * 4)
    budget.hold(peers[3], 50)
    assert (budget.used, [peer.evicted for peer in peers]) == (80, [True, True, False, False])
    budget.let_go(peers[3])
    budget.let_go(peers[3])
    assert budget.used == 30


def test_one_request_that_is_larger_than_the_budget_goes_itself() -> None:
    budget, peer = MemoryBudget(100), Peer()
    budget.hold(peer, 101)
    assert (budget.used, peer.evicted) == (0, True)


def test_what_is_whole_goes_before_what_is_arriving() -> None:
    budget, peer = MemoryBudget(100), Peer()
    budget.hold(peer, 60)
    assert (budget.take(40), peer.evicted) == (True, False)
    assert (budget.take(20), peer.evicted) == (True, True)
    assert (budget.take(60), budget.used) == (False, 60)
    budget.release(60)
    assert budget.used == 0
