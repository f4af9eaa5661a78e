"""Checklists in the forms that data sets have, and the score of the items that are met."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.errors import InputError
from guerdon.rewards.common.parameters import shown

MOST_ITEMS = 100
_TEXTS = ("criterion", "criteria", "description", "requirement", "question", "item", "text")
_WEIGHTS = ("weight", "points", "score")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+(?:\[[ xX]?\]\s*)?")


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """One item of a checklist."""

    text: str
    weight: float = 1.0
    """What it counts where it is met; negative for a fault."""
    essential: bool = False
    """Whether the score is 0 where it comes out badly."""

    def is_well(self, met: bool) -> bool:
        """Whether it came out well: a merit that is met, a fault that is not."""
        return met == (self.weight >= 0)


def entries(value: Any) -> list[ChecklistItem]:
    """The items of a checklist: a list, a JSON list in text, lines of text, or texts with their weights.

    An item is a text or an object with its text under one of ``criterion``, ``criteria``, ``description``,
    ``requirement``, ``question``, ``item``, ``text``, its weight under ``weight``, ``points`` or ``score`` (1
    otherwise), and perhaps ``essential``. Raises InputError for anything else, and where no weight is left.

    >>> entries("- is polite\\n- names a source")[1]
    ChecklistItem(text='names a source', weight=1.0, essential=False)
    >>> entries([{"criterion": "is rude", "points": -2}])[0].weight
    -2.0
    """
    found = [_entry(item, number) for number, item in enumerate(_listed(value), 1)]
    if not found:
        raise InputError("the checklist is empty")
    if len(found) > MOST_ITEMS:
        raise InputError(
            f"the checklist has {len(found)} items; {MOST_ITEMS} are the most that can be judged"
        )
    if not any(entry.weight for entry in found):
        raise InputError("every item of the checklist has weight 0, so there is nothing to score")
    return found


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        if value.lstrip()[:1] in ("[", "{"):
            try:
                return _listed(json.loads(value))
            except (ValueError, RecursionError):
                raise InputError("the checklist starts like JSON but is none") from None
        return [text for line in value.splitlines() if (text := _BULLET.sub("", line).strip())]
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return [{"text": text, "weight": weight} for text, weight in value.items()]
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return list(value)
    raise InputError(f"the checklist must be a list of items, not {shown(value)}")


def _entry(item: Any, number: int) -> ChecklistItem:
    what = f"item {number} of the checklist"
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        raise InputError(f"{what} must be a text or an object, not {shown(item)}")
    text = next(
        (item[name] for name in _TEXTS if isinstance(item.get(name), str) and item[name].strip()), None
    )
    if text is None:
        raise InputError(f"{what} has no text; give it one as {_TEXTS[0]}")
    weight = next((item[name] for name in _WEIGHTS if item.get(name) is not None), 1.0)
    essential = item.get("essential", False)
    if not isinstance(essential, bool | type(None)):
        raise InputError(f"{what}: essential must be true or false, not {shown(essential)}")
    return ChecklistItem(text.strip(), _weight(weight, what), bool(essential))


def _weight(value: Any, what: str) -> float:
    try:
        weight = float(value) if not isinstance(value, bool) else math.nan
    except (TypeError, ValueError, OverflowError):
        weight = math.nan
    if not abs(weight) <= 1e9:
        raise InputError(f"the weight of {what} must be a number, not {shown(value)}")
    return weight


def shown_to_judge(items: Sequence[ChecklistItem]) -> str:
    """The items as the judge reads them; their weights are not its business."""
    return "\n".join(f"{number}. {entry.text}" for number, entry in enumerate(items, 1))


def share(items: Sequence[ChecklistItem], met: Sequence[bool]) -> float:
    """The weights that are met over the positive ones, from 0 to 1; 0 where an essential item came out badly.

    Where all items are faults it is the share of the weights that were avoided.

    >>> share([ChecklistItem("a", 3), ChecklistItem("b", 1), ChecklistItem("c", -2)], [True, True, True])
    0.5
    """
    if any(entry.essential and not entry.is_well(ok) for entry, ok in zip(items, met, strict=True)):
        return 0.0
    gained = math.fsum(entry.weight for entry, ok in zip(items, met, strict=True) if ok)
    positive = math.fsum(entry.weight for entry in items if entry.weight > 0)
    if positive:
        return min(1.0, max(0.0, gained / positive))
    faults = math.fsum(entry.weight for entry in items)
    return min(1.0, max(0.0, 1.0 - gained / faults))
