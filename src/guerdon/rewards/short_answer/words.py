"""Small closed classes of English words, as far as answers to questions of fact need them."""

from __future__ import annotations


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = _set(
    """
    a an the of in on at by to for from and or is are was were be been it its his her their this that as with
    """
)
"""Words that carry no meaning of their own."""

LEADING = _set("in on at by from to of for during since because as with about")
"""What an answer may open with, as it fits the question's sentence."""

TITLES = _set(
    """
    mr mrs ms miss dr sir dame lord lady king queen prince princess president emperor empress pope saint st
    professor prof general colonel captain major lieutenant admiral sergeant commander brevet first 1st senator
    governor judge justice chief reverend rev father brother sister mother rabbi imam sheikh maestro prime
    minister vice secretary architect planner philosopher singer actor actress author writer poet composer
    director producer musician rapper physicist chemist scientist engineer inventor explorer economist historian
    painter artist band group
    """
)
"""What stands before a name and is no part of it."""

SUFFIXES = _set("jr sr phd md esq")
"""What stands after a name."""

SMALL = _set("of the and de la le du van von der den da di al el bin ibn y for in on at to a an")
"""What is written small inside a name."""

VERBS = _set(
    """
    is are was were be been am has have had do does did can could will would may might must should became become
    becomes won wrote made plays played sang sings lives lived took takes means includes include called
    """
)
"""Common verb forms, which distinguish a sentence from a phrase."""

DENIALS = _set(
    """
    not no never neither nor without isnt arent wasnt werent dont doesnt didnt cant cannot couldnt wont wouldnt
    hasnt havent hadnt excluding except doubt doubtful unlikely
    nicht kein keine keinen ne pas nunca nao non niet geen inte ikke nie nem не нет ليس ليست
    """
)
"""Words that deny what follows, also in other languages where they are no words of English."""

TURNS = _set(
    """
    but however instead actually rather although though while whereas only just merely
    sondern mais sino mas maar а но بل
    """
)
"""Words after which a denial has ended."""

PARTS = _set(
    """
    North South East West Northern Southern Eastern Western Northeastern Northwestern Southeastern Southwestern
    New Papua Equatorial Upper Lower
    """
)
"""Words with which a place takes its name from another: New York, South Sudan."""

RELATIVES = _set(
    """
    father mother parent parents son daughter child children brother sister sibling wife husband spouse uncle aunt
    cousin nephew niece grandfather grandmother grandson granddaughter widow friend teacher student pupil rival
    successor predecessor assistant
    """
)
"""Nouns for somebody by somebody else, who is not the one that they mean."""

BESIDE = _set("near beside outside unlike beyond than before after until")
"""Words whose object is not the answer but lies beside it."""

BOUNDS = _set("over under above below nearly almost")
"""Words that make a number a bound."""

ASKING = _set("who whom whose what which when where why how many much name tell me please")
"""Words of a question that an answer does not take up."""
