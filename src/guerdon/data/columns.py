"""Columns: which of a row's columns are the prompt, the response and the answer, named or found."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from guerdon.data.detection import LISTS, TRUTH_NAMES, ColumnCandidates, detect, likely_response, normal
from guerdon.data.gym_rollouts import PARAMS
from guerdon.data.layout import ChatLayout, RolloutLayout, RowLayout
from guerdon.data.paths import listing, may_hold, unknown_column
from guerdon.data.rows import quoted
from guerdon.errors import InputError
from guerdon.types import Sample

_ROLES = ("prompt", "response", "answer")
_MADE = ("prompt", "response", "ground_truth", "messages")
"""The names that columns can be given without a reward that has such a parameter."""
_NEAR = 0.86
"""How alike a name must be to be taken for one of these: ``respnse``, not ``old_ground_truth``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardNeeds:
    """What a reward that reads the rows has to do with how they are understood."""

    reads: Collection[str] | None = ()
    """The names of its parameters; None where they are not known."""
    besides: Collection[str] = ()
    """Columns that are something else than prompt, response and truth, whatever their names: labels, say."""
    any_ending: bool = False
    """Whether it scores conversations that do not end with the assistant."""

    @property
    def reads_truth(self) -> bool:
        """Whether it may read the ground truth."""
        return self.reads is None or not TRUTH_NAMES.isdisjoint(self.reads)


NO_REWARD = RewardNeeds()
"""Of rows that are read for themselves."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns make the sample; those that are not named are found by their names.

    A column is given by its name, or by a dotted path into what it holds. Columns that are named here no
    longer appear under their own name, all others become metadata; one that is wanted twice is given a name
    as well: ``rename={"question": "question"}``. Raises InputError if the parts contradict each other.

    >>> columns = Columns(prompt="question", response="reply", rename={"ground_truth": "gold"})
    >>> sample = columns.sample({"question": "2 + 2?", "reply": "4", "gold": "4", "level": 1})
    >>> sample.prompt, sample.response, sample.ground_truth, sample.metadata
    ('2 + 2?', '4', '4', {'level': 1})
    >>> Columns().sample({"question": "2 + 2?", "completion": "4"}).response
    '4'
    """

    prompt: str | None = None
    """Holds the prompt: text, a message or a list of messages."""
    response: str | None = None
    """Holds the completion: text, a message, a list of messages, or a list of any of these, a sample each."""
    answer: str | None = None
    """Becomes the sample's ``ground_truth``."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Name that the reward reads to name of the column."""
    spelling: Literal["flags", "mapping"] = field(default="flags", repr=False, compare=False)
    """Whether messages name options of the command line, or the argument ``columns={…}``."""

    def __post_init__(self) -> None:
        if self.response is not None and "messages" in self.rename:
            raise InputError(
                f"{self._how_renamed('messages', self.rename['messages'])} and {self._how('response', self.response)} "
                "both make the conversation; give one of them"
            )
        if self.answer is not None and "ground_truth" in self.rename:
            raise InputError(
                f"{self._how('answer', self.answer)} and "
                f"{self._how_renamed('ground_truth', self.rename['ground_truth'])} "
                "both set the ground truth; give one of them"
            )
        object.__setattr__(self, "rename", dict(self.rename))

    @classmethod
    def of(cls, given: Columns | Mapping[str, str] | None) -> Columns:
        """Columns from ``{"prompt": "question", …}``, whose other names are those that the reward reads.

        Raises InputError for anything else.

        >>> Columns.of({"prompt": "question", "ground_truth": "gold"})
        Columns(prompt='question', response=None, answer='gold', rename={})
        """
        if isinstance(given, Columns):
            return given
        if given is None:
            return cls(spelling="mapping")
        if not isinstance(given, Mapping) or not all(
            isinstance(part, str) and part for pair in given.items() for part in pair
        ):
            raise InputError(f'columns must be names such as {{"prompt": "question"}}, not {given!r:.80}')
        rest = dict(given)
        prompt, response, truth = (rest.pop(name, None) for name in ("prompt", "response", "ground_truth"))
        return cls(prompt=prompt, response=response, answer=truth, rename=rest, spelling="mapping")

    def sample(self, row: Mapping[str, Any]) -> Sample:
        """The sample of a row; raises InputError that says what is wrong with the row."""
        layout = self.layout([row])
        rows = layout.rows(row)
        if len(rows) > 1:
            raise InputError(f"the row holds {len(rows)} responses, where there must be one")
        return layout.sample(rows[0])

    def lacking(self, names: Sequence[str]) -> str | None:
        """What is wrong with a table that has the columns ``names``; None if nothing is."""
        try:
            self._check_named(names)
        except InputError as error:
            return str(error)
        return None

    def layout(
        self, rows: Sequence[Mapping[str, Any]], *, needs: RewardNeeds = NO_REWARD, in_text: bool = False
    ) -> RowLayout:
        """How rows become samples that begin with ``rows``: the columns that are named, and those that are found.

        ``in_text`` says that cells are text only, as in CSV. Raises InputError that names the columns where a
        role has none, or two.
        """
        names = dict.fromkeys(name for row in rows for name in row if isinstance(name, str))
        self._check_named(names)
        self._check_roles(needs)
        if not self._named and PARAMS in names and any(isinstance(r.get("response"), Mapping) for r in rows):
            return RolloutLayout(any_ending=needs.any_ending)
        return _ColumnSearch(self, names, rows, needs).layout(in_text=in_text)

    @property
    def _named(self) -> dict[str, str]:
        """The columns that were named, each with how."""
        named = {column: self._flag("map", name) for name, column in self.rename.items()}
        for role in _ROLES:
            if (column := getattr(self, role)) is not None:
                named[column] = self._flag(role)
        return named

    def _check_named(self, names: Collection[str]) -> None:
        named = self._named
        for column, flag in named.items():
            if not may_hold(names, column):
                raise InputError(unknown_column(column, names, flag))
        made = {name: self._how_renamed(name, column) for name, column in self.rename.items()}
        if self.answer is not None:
            made["ground_truth"] = self._how("answer", self.answer)
        for name, flag in made.items():
            if name in names and name not in named:
                raise InputError(
                    f"the row has a column {quoted(name)} already, which {flag} would "
                    f"overwrite; keep that one under another name: {self._how_renamed('old_' + name, name)}"
                )

    def _check_roles(self, needs: RewardNeeds) -> None:
        """Raise InputError for a name that the reward does not read and that is a misspelt role."""
        reads = needs.reads
        for name in self.rename:
            if reads is None or name in reads or name in _MADE:
                continue
            if difflib.get_close_matches(name, _MADE, n=1, cutoff=_NEAR):
                (near,) = difflib.get_close_matches(name, [*_MADE, *sorted(reads)], n=1)
                raise InputError(
                    f"{self._flag('map', name)}: nothing reads {quoted(name)}; did you mean {near}?"
                )

    def _flag(self, role: str, name: str = "") -> str:
        """How a role is given, without the column."""
        if self.spelling == "mapping":
            return f'columns["{ {"answer": "ground_truth", "map": name}.get(role, role) }"]'
        return f"--map {name}={self.rename[name]}" if role == "map" else f"--{role}-column"

    def _how(self, role: str, column: str) -> str:
        """How a column is given a role."""
        if self.spelling == "mapping":
            return f'columns={{"{"ground_truth" if role == "answer" else role}": "{column}"}}'
        return f"--{role}-column {shlex.quote(column)}"

    def _how_renamed(self, name: str, column: str) -> str:
        """How a column is given the name that the reward reads."""
        if self.spelling == "mapping":
            return f'columns={{"{name}": "{column}"}}'
        return "--map " + shlex.quote(f"{name}={column}")

    def refuse(self, what: str, candidates: Sequence[str], role: str) -> NoReturn:
        """Raise the InputError for a role that several columns may have."""
        both = " and ".join((", ".join(candidates[:-1]), candidates[-1]))
        ways = " or ".join(self._how(role, column) for column in candidates)
        raise InputError(f"{len(candidates)} columns may be the {what}: {both}; choose one: {ways}")

    def refuse_without_response(
        self, names: Collection[str], rows: Sequence[Mapping[str, Any]], found: ColumnCandidates
    ) -> NoReturn:
        """Raise the InputError for a table in which no column is known to hold the response."""
        taken = (*found.prompt, *found.truth, *self._named)
        likely = likely_response(names, rows, taken)
        remedy = f"say which holds it: {self._how('response', likely or 'NAME')}"
        if self.prompt is None and len(found.prompt) > 1:
            remedy += f", and one of {' or '.join(self._how('prompt', c) for c in found.prompt)}"
        if likely is None and found.truth:
            truth = found.truth[0]
            remedy += f", or score the expected answers themselves: {self._both(truth)}"
        raise InputError(f"no column for the response of the model; {listing(names)}; {remedy}")

    def _both(self, column: str) -> str:
        """How a column is made the response and the ground truth."""
        if self.spelling == "mapping":
            return f'columns={{"response": "{column}", "ground_truth": "{column}"}}'
        return f"{self._how('response', column)} {self._how('answer', column)}"


@dataclass(frozen=True, slots=True)
class _ColumnSearch:
    """Looking for the columns that nobody named."""

    columns: Columns
    names: Collection[str]
    rows: Sequence[Mapping[str, Any]]
    needs: RewardNeeds

    def layout(self, *, in_text: bool) -> ChatLayout:
        given = self.columns
        found = detect(self.names, self.rows, (*given._named, *self.needs.besides))
        parts: dict[str, Any] = {"prompt": given.prompt, "response": given.response, "truth": given.answer}
        new: dict[str, str] = {}
        conversation = self._conversation(found)
        whole = conversation is not None or "messages" in given.rename
        if conversation not in (None, "messages"):
            parts["conversation"] = new["messages"] = conversation
        if not whole:
            self._prompt_and_response(found, parts, new)
        if given.answer is None and "ground_truth" not in given.rename:
            self._truth(found, parts, new, settled=whole or given.response is not None)
        named = given._named
        dropped = {*named, *(("messages", parts["conversation"]) if "conversation" in parts else ())}
        dropped |= {"answer"} if parts["response"] == "answer" else set()
        return ChatLayout(
            **parts,
            rename=given.rename,
            flags=named,
            found=new,
            in_text=in_text,
            lists_in_text=in_text and _lists_in_text(self.rows, parts["response"]),
            any_ending=self.needs.any_ending,
            dropped=frozenset(dropped),
        )

    def _conversation(self, found: ColumnCandidates) -> str | None:
        """The column that holds whole conversations; not one whose conversations wait for the response beside it."""
        given, name = self.columns, found.conversation
        if name is None:
            return None
        named = "prompt" if given.prompt is not None else "response" if given.response is not None else None
        waits = [_waits(row.get(name)) for row in self.rows]
        if given.prompt is None and waits and all(waits) and (found.response or given.response):
            found.prompt = [name]
            return None
        if named is None:
            return name
        if name == "messages":
            raise InputError(
                f'the row has a column "messages" already, which {given._how(named, getattr(given, named))} '
                f"would overwrite; keep that one under another name: {given._how_renamed('old_messages', name)}"
            )
        return None

    def _prompt_and_response(
        self, found: ColumnCandidates, parts: dict[str, Any], new: dict[str, str]
    ) -> None:
        given = self.columns
        if given.response is None and not found.response:
            if not (self.needs.any_ending and (given.prompt or found.prompt)):
                given.refuse_without_response(self.names, self.rows, found)
        elif given.response is None:
            if len(found.response) > 1:
                given.refuse("response", found.response, "response")
            parts["response"] = new["response"] = found.response[0]
        if given.prompt is None and found.prompt:
            if len(found.prompt) > 1:
                given.refuse("prompt", found.prompt, "prompt")
            parts["prompt"] = new["prompt"] = found.prompt[0]

    def _truth(
        self, found: ColumnCandidates, parts: dict[str, Any], new: dict[str, str], *, settled: bool
    ) -> None:
        """The ground truth; where the conversation was clear already, a column ``answer`` stays what it is."""
        truths = [name for name in found.truth if name != parts["response"]]
        if "ground_truth" not in truths and truths and normal(truths[0]) == "ground_truth":
            truths = truths[:1]
        if "ground_truth" in truths or (settled and "answer" in truths):
            if new and "ground_truth" in truths:
                new["ground_truth"] = "ground_truth"
            return
        reads = self.needs.reads
        if len(truths) > 1 and reads is not None:
            truths = [t for t in truths if t == "answer" and "answer" in reads] or truths
        if len(truths) > 1:
            if self.needs.reads_truth:
                self.columns.refuse("ground truth", truths, "answer")
            return
        if truths:
            parts["truth"] = new["ground_truth"] = truths[0]


def _lists_in_text(rows: Sequence[Mapping[str, Any]], name: str | None) -> bool:
    """Whether a column of several responses holds a list in each cell: text in some of them may look like one."""
    cells = [cell.strip() for row in rows if isinstance(cell := row.get(name), str)] if name in LISTS else []
    written = [cell for cell in cells if cell]
    return bool(written) and all(cell.startswith("[") and cell.endswith("]") for cell in written)


def _waits(value: Any) -> bool:
    """Whether a value is a list of messages whose last is not the assistant's."""
    last = value[-1] if isinstance(value, list) and value else None
    if not isinstance(last, Mapping):
        return False
    role = last.get("role", last.get("from"))
    return role in ("user", "human", "system", "tool")


def parse_mapping(text: str) -> tuple[str, str]:
    """The two halves of ``name=column``; the column may hold further equals signs.

    Raises InputError if a half is missing.

    >>> parse_mapping("ground_truth=gold")
    ('ground_truth', 'gold')
    """
    name, equals, column = text.partition("=")
    if not (equals and name.strip() and column.strip()):
        raise InputError(
            f"--map {quoted(text)} is not of the form name=column, such as --map ground_truth=gold"
        )
    return name.strip(), column.strip()


def parse_mappings(texts: Iterable[str]) -> dict[str, str]:
    """Several ``name=column`` as a dictionary for ``Columns(rename=…)``.

    Raises InputError if one is malformed or two give the same name.

    >>> parse_mappings(["ground_truth=gold", "level=difficulty"])
    {'ground_truth': 'gold', 'level': 'difficulty'}
    """
    rename: dict[str, str] = {}
    for name, column in map(parse_mapping, texts):
        if rename.setdefault(name, column) != column:
            raise InputError(f"--map gives {quoted(name)} twice: from {rename[name]} and from {column}")
    return rename


def sample_of_row(
    row: Mapping[str, Any],
    columns: Columns | Mapping[str, str] | None = None,
    *,
    reads: Collection[str] | None = (),
    any_ending: bool = False,
) -> Sample:
    """The sample of one row by itself, its columns named or found.

    ``reads`` are the names of the reward's parameters, None where they are not known. Raises InputError that
    says what is wrong.

    >>> sample_of_row({"question": "2 + 2?", "completion": "4", "answer": "4"}).ground_truth
    '4'
    """
    layout = Columns.of(columns).layout([row], needs=RewardNeeds(reads=reads, any_ending=any_ending))
    rows = layout.rows(row)
    if len(rows) != 1:
        raise InputError(f"the row holds {len(rows)} responses; send one a sample")
    return layout.sample(rows[0])
