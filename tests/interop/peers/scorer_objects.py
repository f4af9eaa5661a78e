"""Scorers of autoevals, OpenEvals and DeepEval as they are found in a file of the user's."""

from autoevals import ExactMatch, Levenshtein, NumericDiff
from autoevals.json import ValidJSON
from autoevals.score import Score, Scorer
from deepeval.metrics import BaseMetric, ExactMatchMetric, PatternMatchMetric
from openevals import exact_match, exact_match_async
from openevals.json import create_json_match_evaluator
from openevals.string import levenshtein_distance
from openevals.trajectory import create_trajectory_match_evaluator


class Length(BaseMetric):
    """As many letters as the limit are a full score."""

    def __init__(self, limit=4, threshold=0.5):
        self.limit, self.threshold, self.async_mode = limit, threshold, False

    def measure(self, test_case, *args, **kwargs):
        if test_case.actual_output == "fail":
            raise ValueError("it fails")
        self.score = min(1.0, len(test_case.actual_output) / self.limit)
        self.reason = f"{len(test_case.actual_output)} letters"
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        return self.measure(test_case)

    @property
    def __name__(self):
        return "Length of Answer"


class Judged(Length):
    """A metric that asks a model, which this one only pretends to."""

    def __init__(self):
        super().__init__()
        self.evaluation_model, self.async_mode = "none", True

    async def a_measure(self, test_case, *args, **kwargs):
        self.score = 1.0 - self.measure(test_case)
        return self.score


class Choosy(Scorer):
    """Does not apply to everything."""

    def _run_eval_sync(self, output, expected=None, **kwargs):
        score = None if output == "skip" else 0.5
        return Score(name="Choosy", score=score, metadata={"rationale": "so it is", "seen": 2})


class Context(Scorer):
    """Reads a column, and is more than its sync twin when awaited."""

    def _run_eval_sync(self, output, expected=None, *, context, input):
        return Score(name="Context", score=float(output in context and input == "?"))

    async def _run_eval_async(self, output, expected=None, **kwargs):
        return self._run_eval_sync(output, expected, context=kwargs["context"], input=kwargs["input"])


levenshtein, exact, number = Levenshtein(), ExactMatch(), NumericDiff()
valid, choosy, context = ValidJSON(), Choosy(), Context()
near = Levenshtein.partial(expected="4")
fields = create_json_match_evaluator(aggregator="average")
each = create_json_match_evaluator()
trajectory = create_trajectory_match_evaluator(trajectory_match_mode="superset")
digits, length, judged = PatternMatchMetric("[0-9]+"), Length(), Judged()

__all__ = ["ExactMatchMetric", "Levenshtein", "exact_match", "exact_match_async", "levenshtein_distance"]
