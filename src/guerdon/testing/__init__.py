"""Help for the tests of rewards: cases with expected scores, and the contract that a reward should keep."""

from __future__ import annotations

from guerdon.testing.contract import ContractReport, check_reward
from guerdon.testing.tables import CaseOutcome, assert_cases, cases, run_cases

__all__ = ["CaseOutcome", "ContractReport", "assert_cases", "cases", "check_reward", "run_cases"]
