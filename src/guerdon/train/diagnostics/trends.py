"""What goes wrong while a model learns, said in words: rewards that teach nothing, and numbers that run away.

A run is looked at in windows of some steps, ten by default. When a window is complete,

- its scores are judged as those of any scoring run (``guerdon.scoring.statistics.findings``): too sparse, saturated,
  clustered, constant, failing. A reward that is on its way up starts sparse and ends saturated, so this is
  said only where two windows in a row are so and the reward did not rise from one to the other. Sparse is
  a grade milder than there, since half of the groups being zero-variance is how many runs begin; and that a reward
  is saturated which rose in the run is a notice, for then the data is learned;
- it is compared with the windows before it: see ``_collapse``, ``_length``, ``_falling``, ``_flat``,
  ``_runaway`` and ``_failures``, where each rule stands with its formula.

"Rises" and "falls" mean by several standard errors of the difference between two windows, and by a share of
the reward's own scale. Each warning is said once; it may come again after two windows in which it was not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from guerdon.scoring.statistics.figures import figure, percent
from guerdon.scoring.statistics.summary import Severity, Statistics
from guerdon.train.diagnostics.step_statistics import Observation
from guerdon.train.diagnostics.windows import History, OpenWindow, Window

STEPS = 10
"""Steps in a window: enough that one odd batch makes no trend, few enough to save most of a run."""

ERRORS = 4.0
"""Standard errors that a fall or a growth must exceed: in a run of a thousand windows without a trend the
largest chance movement lies near 3.3."""

LEAST = 0.1
"""And the share of the scale that it must exceed: smaller falls are not worth a warning."""

LOST = 1 / 3
"""A fall is one that loses this share of what there was between the lowest and the best."""

RISEN = 0.02
"""A rise that excuses other things exceeds a standard error or two and this share of the scale."""

GROWN = 2.0
"""A length, or a component beyond the unit scale, runs away once it has grown to so many times what it was."""

LONGER = 20
"""Characters by which a completion must have grown besides: from 5 to 12 is no growth."""

FAILED = 5
"""Failures in a window below this number may be those of one odd step."""

MORE_FAIL = 0.05
"""The share of samples by which failures must have grown since the first window."""

CLEAR = 3
"""Windows in which a warning must not have been so before it counts as over."""

_MILDER: Mapping[Severity, Severity] = {"critical": "warning", "warning": "notice", "notice": "notice"}
_LEVELS = ("constant", "sparse", "saturated", "clustered", "not_applicable")
_LEARNED = "The data is learned: end the run here, or go on with harder data."


@dataclass(frozen=True, slots=True)
class Alarm:
    """A warning about a run, with the advice that goes with it."""

    code: str
    """``sparse``, ``saturated``, ``clustered``, ``constant``, ``not_applicable``, ``failures``,
    ``failures_grow``, ``collapse``, ``length_grows``, ``component_traded``, ``component_falls``,
    ``total_flat`` or ``runaway``."""
    severity: Severity
    text: str
    remedy: str
    about: str = ""
    """The component that it is about, if it is about one."""

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}"

    @property
    def key(self) -> str:
        """The identity of this warning: code and component."""
        return f"{self.code}:{self.about}" if self.about else self.code

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class WarningChange:
    """What changed with a step: the warnings that are new, and the keys of those that are over."""

    raised: tuple[Alarm, ...] = ()
    resolved: tuple[str, ...] = ()


class Trends:
    """Takes the samples of a run step by step and gives the warnings.

    >>> trends = Trends(steps=2)
    >>> for step in range(1, 5):
    ...     for _ in range(20):
    ...         trends.add(step, Observation(0.0, None, {}, "2 + 2?", 5))
    ...     for alarm in trends.end_step(step).raised:
    ...         print(step, alarm.code, alarm.text)
    4 constant Steps 3 to 4: constant: all 40 scores are 0, so there is nothing to learn from.
    """

    def __init__(self, steps: int = STEPS) -> None:
        self._steps = steps
        self._history = History()
        self._open = OpenWindow()
        self._fallen = False
        self._absent: dict[str, int] = {}
        self._suspects: dict[str, Alarm] = {}

    def add(self, step: int, seen: Observation) -> None:
        """Take one sample of a step; all before the step ends."""
        self._open.add(step, seen)

    def end_step(self, step: int) -> WarningChange:
        """The step is complete: the warnings that it brings, mostly none."""
        self._open.end_step(step)
        if len(self._open) < self._steps:
            return WarningChange()
        closed, self._open = self._open.close(), OpenWindow()
        if closed is None:
            return WarningChange()
        window, stats = closed
        self._history.add(window)
        suspects, self._suspects = self._suspects, {}
        found = [*self._failures(window, stats), *self._movements(), *self._levels(window, stats)]
        return self._change([alarm for alarm in found if self._is_sure(alarm, suspects)])

    def _is_sure(self, alarm: Alarm, suspects: Mapping[str, Alarm]) -> bool:
        """What one window shows may pass; it is said where the next shows it too, but for growth at once."""
        self._suspects[alarm.key] = alarm
        return alarm.key in suspects or alarm.code in ("failures_grow", "runaway")

    def _change(self, found: Sequence[Alarm]) -> WarningChange:
        alarms = {alarm.key: alarm for alarm in found}
        new = tuple(alarm for key, alarm in alarms.items() if key not in self._absent)
        self._absent = {key: 0 if key in alarms else count + 1 for key, count in self._absent.items()}
        over = tuple(key for key, count in self._absent.items() if count >= CLEAR)
        for key in over:
            del self._absent[key]
        self._absent.update({alarm.key: 0 for alarm in new})
        return WarningChange(new, over)

    # The scores of a window by themselves.

    def _levels(self, window: Window, stats: Statistics) -> Iterator[Alarm]:
        """The findings that a scoring run would have, unless the reward rises or has collapsed."""
        found = {finding.code: finding for finding in stats.findings() if finding.severity != "notice"}
        finding = next((found[code] for code in _LEVELS if code in found), None)
        if finding is None or self._fallen:
            return
        text = f"{_upper(window.steps)}: {finding.text[0].lower()}{finding.text[1:]}"
        now, least = window.reward, LEAST * self._history.scale
        earlier = [level for level in (self._history.first.reward, self._history.start) if level]
        high = finding.code == "saturated" or (finding.code == "constant" and (stats.top_value or 0.0) > 0)
        if high and now and any(now.rise_from(level, 2, least) for level in earlier):
            if not self._rising(self._history.before):
                yield Alarm("saturated", "notice", text, _LEARNED)
        elif not self._rising():
            severity = _MILDER[finding.severity] if finding.code == "sparse" else finding.severity
            yield Alarm(finding.code, severity, text, finding.remedy)

    def _rising(self, *since: Window | None) -> bool:
        """Whether the reward has risen since one of some windows, by default the first and the one before."""
        last, history = self._history.last.reward, self._history
        earlier = [w.reward for w in since or (history.first, history.before) if w is not None and w.reward]
        return last is not None and any(last.rise_from(e, 2, RISEN * history.scale) for e in earlier)

    def _failures(self, window: Window, stats: Statistics) -> Iterator[Alarm]:
        """Failures run away where their share has grown by 0.05 and four standard errors since the start.

        The error is that of a share, √(p(1 − p)/n), for the share p of both windows together. Where they
        did not grow they are reported as in any scoring run, from one in a hundred on, and from five on.
        """
        failures = (f for f in stats.findings() if f.code == "failures" and f.severity != "notice")
        finding, first = next(failures, None), self._history.first
        grown = window.failing - first.failing
        both = (window.failed + first.failed) / (window.count + first.count)
        error = (both * (1 - both) * (1 / window.count + 1 / first.count)) ** 0.5
        remedy = finding.remedy if finding else "Read the error of a failed sample."
        if grown > max(MORE_FAIL, ERRORS * error):
            text = f"Failures grow: {percent(window.failing)} of the samples failed in {window.steps}, "
            text += f"{percent(first.failing)} in {first.steps}."
            yield Alarm("failures_grow", "critical" if window.failing > 0.5 else "warning", text, remedy)
        elif finding is not None and window.failed >= FAILED:
            text = f"{_upper(window.steps)}: {finding.text}"
            yield Alarm("failures", finding.severity, text, remedy)

    # A window beside those before it.

    def _movements(self) -> Iterator[Alarm]:
        collapse = list(self._collapse())
        self._fallen = bool(collapse)
        yield from collapse
        yield from self._length()
        falling = list(self._falling(self._fallen))
        yield from falling or (() if collapse else self._flat())
        yield from self._runaway()

    def _collapse(self) -> Iterator[Alarm]:
        """The reward collapses where its mean has fallen from its best window, in two windows in a row.

        By four standard errors, by a tenth of the scale, and by a third of what lies between the lowest
        score of the run and the best mean.
        """
        history = self._history
        best, now = history.best, history.last.reward
        if best is None or best.reward is None or now is None:
            return
        least = max(LEAST * history.scale, LOST * (best.reward.mean - history.lowest))
        if best.reward.rise_from(now, ERRORS, least):
            text = f"The reward collapses: {figure(now.mean)} in {history.last.steps}, "
            text += f"{figure(best.reward.mean)} in {best.steps}."
            remedy = (
                f"Go back to a checkpoint near step {best.last:,} with a lower learning rate or a higher "
            )
            remedy += "KL weight (beta), and read what the model writes now: guerdon train inspect."
            yield Alarm("collapse", "critical", text, remedy)

    def _length(self) -> Iterator[Alarm]:
        """Completions run away where they have doubled and the reward has not risen with them.

        The window compared is the latest whose mean length was half the present one or less; both lie
        20 characters and four standard errors apart.
        """
        last = self._history.last
        half = [w for w in self._history.all if last.length.mean >= GROWN * w.length.mean]
        if not half or not last.length.rise_from(half[-1].length, ERRORS, LONGER):
            return
        then = half[-1]
        if then.reward and last.reward:
            if last.reward.rise_from(then.reward, 1, RISEN * self._history.scale):
                return
            rewards = f"the reward went from {figure(then.reward.mean)} to {figure(last.reward.mean)}"
        else:
            rewards = "there is no reward to show for it"
        text = f"Completions grow: {last.length.mean:,.0f} characters in {last.steps}, "
        text += f"{then.length.mean:,.0f} in {then.steps}, and {rewards}."
        remedy = "Look for padding and repetition: guerdon train inspect; charge for length (the rewards "
        remedy += "length, conciseness, accuracy_overlong) or lower generation.max_generation_steps."
        yield Alarm("length_grows", "warning", text, remedy)

    def _falling(self, collapsed: bool) -> Iterator[Alarm]:
        """A component falls as a reward collapses; it is traded where another has risen since its best window.

        The other must have risen by three standard errors and a tenth of its scale. Trading away what weighs
        less than what it bought may be as it should be and is a notice. That components fall where the whole
        reward collapses is not said again.
        """
        history, last = self._history, self._history.last
        for name, now in last.components.items():
            peak = history.peaks[name]
            top = peak.components[name]
            lost = max(LEAST * history.scale_of(name), LOST * (top.mean - history.floor_of(name)))
            deep = top.mean - now.mean >= LOST * abs(top.mean)
            if not (deep and top.rise_from(now, ERRORS, lost * (1 - 1e-9))):
                continue
            fell = f"{name} fell from {figure(top.mean)} ({peak.steps}) to {figure(now.mean)} ({last.steps})"
            if (bought := self._risen_since(peak, name)) is not None:
                yield self._traded(name, bought, peak, fell)
            elif not collapsed:
                text = f"A component falls: {fell}."
                remedy = (
                    f"Read samples where it is low: guerdon train inspect; give {name} more weight if it "
                )
                remedy += "matters, or drop it if it does not."
                yield Alarm("component_falls", "warning", text, remedy, name)

    def _risen_since(self, then: Window, but: str) -> str | None:
        """The component that has risen most since a window, if one has."""
        last = self._history.last
        risen = {
            name: (now.mean - then.components[name].mean) / self._history.scale_of(name)
            for name, now in last.components.items()
            if name != but
            and name in then.components
            and now.rise_from(then.components[name], 3, LEAST * self._history.scale_of(name))
        }
        return max(risen, key=lambda name: risen[name]) if risen else None

    def _traded(self, lost: str, bought: str, then: Window, fell: str) -> Alarm:
        last = self._history.last
        risen = f"{bought} rose from {figure(then.components[bought].mean)} to "
        risen += figure(last.components[bought].mean)
        total = ""
        if then.reward and last.reward:
            total = f"; the reward went from {figure(then.reward.mean)} to {figure(last.reward.mean)}"
        weights = last.weights
        light = abs(weights.get(lost, 0.0)) < abs(weights.get(bought, 0.0)) and lost in weights
        remedy = (
            f"The model may gain by {bought} at the cost of {lost}: let {bought} count only where {lost} "
        )
        remedy += "holds (guerdon.gate), give it less weight, and read samples: guerdon train inspect."
        severity: Severity = "notice" if light else "warning"
        text = f"One component for another: {fell} while {risen}{total}."
        return Alarm("component_traded", severity, text, remedy, lost)

    def _flat(self) -> Iterator[Alarm]:
        """The total is flat where a component has risen since the first window and the reward has not.

        The component by three standard errors and a fifth of its scale, where it has a weight by a tenth of
        the reward's scale besides; the reward by less than two standard errors. A gate that is not passed
        yet looks the same, so without weights this is a notice.
        """
        history = self._history
        first, last = history.first, history.last
        if first.reward is None or last.reward is None or last.reward.rise_from(first.reward, 2, 0.0):
            return
        for name, now in last.components.items():
            then = first.components.get(name)
            if then is None or not now.rise_from(then, 3, 2 * LEAST * history.scale_of(name)):
                continue
            weight = last.weights.get(name)
            if last.weights and (weight is None or weight * (now.mean - then.mean) < LEAST * history.scale):
                continue
            text = f"{name} rose from {figure(then.mean)} to {figure(now.mean)} since {first.steps}, and the "
            text += f"reward did not: {figure(first.reward.mean)} then, {figure(last.reward.mean)} now."
            remedy = f"See what is lost for {name}: guerdon train inspect."
            yield Alarm("total_flat", "notice" if weight is None else "warning", text, remedy, name)

    def _runaway(self) -> Iterator[Alarm]:
        """A reward or a weighted component runs away where it has left the unit scale and doubled.

        Its mean is beyond 2 and beyond twice that of the first window, either side of 0, by four standard
        errors: it has no bound, and what has none is pushed without end.
        """
        first, last = self._history.first, self._history.last
        pairs = {
            name: (first.components.get(name), level)
            for name, level in last.components.items()
            if name in last.weights
        }
        series: Mapping[str, Any] = {"": (first.reward, last.reward), **pairs}
        for name, (then, now) in series.items():
            if then is None or now is None or abs(now.mean) < GROWN * max(abs(then.mean), 1.0):
                continue
            if now.rise_from(then, ERRORS, 0.0) or then.rise_from(now, ERRORS, 0.0):
                text = f"{name or 'The reward'} runs away: {figure(now.mean)} in {last.steps}, "
                text += f"{figure(then.mean)} in {first.steps}."
                remedy = "Give it a bound, such as min(value, 1), so that one part cannot outweigh the rest."
                yield Alarm("runaway", "warning", text, remedy, name)


def _upper(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
