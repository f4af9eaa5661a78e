"""The samples of a training run as Scores, so that what shows those shows these."""

from __future__ import annotations

from guerdon.errors import InputError
from guerdon.scoring.outcome import Outcome, PackedMetric
from guerdon.scoring.reading import ReadSample
from guerdon.scoring.results import Scores
from guerdon.scoring.texts import text_of
from guerdon.train.records.run_reader import RunReader
from guerdon.types import Provenance


def scores_of(reader: RunReader) -> Scores:
    """A run's samples in order; the id of each is ``STEP/POSITION``.

    Raises InputError where the run kept no samples.
    """
    scores: Scores | None = None
    for one in reader.samples():
        if scores is None:
            scores = Scores(Provenance(one.reward, one.version))
        metrics: dict[str, PackedMetric] = {
            name: (part.score, None, part.reason, part.weight) for name, part in one.components.items()
        }
        outcome = Outcome(one.score, one.reason, metrics or None, None, one.error, one.error_kind)
        sample = ReadSample(f"{one.step}/{one.position}", one.group, None, text_of(one.sample))
        scores.add(sample, outcome, 0.0)
    if scores is None:
        raise InputError(f"{reader.folder.path} has no samples yet")
    scores.path = reader.folder.path
    return scores
