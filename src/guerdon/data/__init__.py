"""Loading rows and turning them into samples."""

from guerdon.data.columns import Columns, RewardNeeds, parse_mapping, parse_mappings, sample_of_row
from guerdon.data.dataset import Dataset, ReadProgress, Survey, open_dataset
from guerdon.data.rows import BadRow, BadRowsError

__all__ = [
    "BadRow",
    "BadRowsError",
    "Columns",
    "Dataset",
    "ReadProgress",
    "RewardNeeds",
    "Survey",
    "open_dataset",
    "parse_mapping",
    "parse_mappings",
    "sample_of_row",
]
