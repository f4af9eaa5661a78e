"""Running what a model wrote: confined, limited, and judged where it cannot reach.

>>> with Sandbox() as sandbox:
...     sandbox.run("print(6 * 7)").stdout
'42\\n'
"""

from guerdon.sandbox.execution import NO_VERDICT, Execution, Status, Tier
from guerdon.sandbox.grading.cases import AssertTest, CallTest, StdinTest, Test, TestResult
from guerdon.sandbox.grading.comparison import Comparison
from guerdon.sandbox.isolation.doctor import Diagnosis, doctor
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.sandbox import Sandbox

__all__ = [
    "NO_VERDICT",
    "AssertTest",
    "CallTest",
    "Comparison",
    "Diagnosis",
    "Execution",
    "Limits",
    "Sandbox",
    "Status",
    "StdinTest",
    "Test",
    "TestResult",
    "Tier",
    "doctor",
]
