"""Each promise of the pages on security has a test: the words stand there, and the test that holds them exists."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PIPELINE, FAST = "serve/http/test_pipeline.py", "serve/http/test_fast_protocol.py"
DRAIN, WORKERS = "serve/http/test_server_drain.py", "serve/dispatch/test_workers.py"
DEADLINES, HEALTH = "serve/dispatch/test_dispatcher_deadlines.py", "serve/dispatch/test_dispatcher_health.py"
HOME, LOG = "serve/http/test_home_page.py", "serve/http/test_access_log.py"
JOURNAL, ROUTES = "serve/journal/test_journal_store.py", "serve/http/test_journal_routes.py"
COMMAND, REWARD_SERVER = "cli/commands/test_serve_command.py", "serve/test_reward_server.py"
RELOAD = "serve/reload/test_reloader.py"
CORPUS, RUN = "sandbox/test_sandbox_corpus.py", "sandbox/test_sandbox_run.py"
LIFECYCLE, TIERS = "sandbox/test_sandbox_lifecycle.py", "sandbox/isolation/test_tiers.py"
JUDGING, DOCTOR = "sandbox/grading/test_grading_judging.py", "sandbox/isolation/test_doctor.py"
TIMED = "serve/http/test_timed_protocol.py"
SOCKETS = "serve/http/test_websocket_limits.py"
DISPATCHED, ORDERED = "serve/dispatch/test_dispatcher_faults.py", "serve/http/test_ordered_protocol.py"
HACKS = "sandbox/grading/test_grading_judging_hacks.py"
WORKDIRS = "sandbox/local/test_workdirs.py"
LANGUAGES = "sandbox/languages/test_languages.py"

Promises = Sequence[tuple[str, str, str]]
SERVING: Promises = (
    ("It loads nothing from elsewhere", HOME, "its_policy_allows_its_own_script_and_nothing_else"),
    ("With `--host 0.0.0.0` it needs a key", PIPELINE, "a_server_that_others_reach_insists_on_a_key"),
    (
        "A caller sends a key as `Authorization: Bearer KEY` or as `X-Api-Key: KEY`",
        PIPELINE,
        "each_key_opens",
    ),
    ("so you can rotate keys", "serve/http/test_api_keys.py", "keys_are_rotated_within_a_second"),
    ("need no key; every other endpoint does", PIPELINE, "what_is_open_without_a_key"),
    ("Without a key, `/` shows no reward", HOME, "with_keys_it_shows_nothing_without_one"),
    ("could read at `/requests`", COMMAND, "a_mistake_is_a_line_and_status_2"),
    ('a reward that runs programs with `isolation="none"`', COMMAND, "a_mistake_is_a_line_and_status_2"),
    ("bounds the bodies of all connections together", TIMED, "bodies_are_bounded_over_all_connections"),
    ("the server raises its own limit as far as it may", TIMED, "few_open_files_are_no_end"),
    ("A head must arrive within 20 s", TIMED, "a_head_that_does_not_end_is_not_waited_for"),
    (
        "A response that nobody reads is dropped",
        TIMED,
        "a_caller_that_sends_and_does_not_read_is_read_no_more",
    ),
    ("idle connections make room for new ones", TIMED, "idle_and_slow_callers_make_room"),
    (
        "`/health/ready` is 503 with the reason",
        TIMED,
        "a_worker_that_is_stopped_is_seen_while_nobody_asks_and_replaced",
    ),
    ("a silent worker's calls go to the others", TIMED, "calls_at_a_stopped_worker_go_to_the_other"),
    ("serve HTTPS and WSS", "end_to_end/test_tls.py", "it_speaks_https_and_wss"),
    ("gets 403", "serve/http/test_admission_origin.py", "pages_of_other_hosts_are_refused"),
    ("error replies and the journal contain no secrets", LOG, "secrets_are_not_logged"),
    ('`{"name": "api_key", "value": …}`', JOURNAL, "no_secret_is_on_the_disk"),
    ("| 401, 403 |", PIPELINE, "no_key_no_answer"),
    (
        "answers only to `localhost`, 127.0.0.1 and `[::1]`",
        "serve/http/test_admission_hosts.py",
        "names_of_others",
    ),
    ("a revoked key closes its WebSockets with 1008", SOCKETS, "a_revoked_key_closes_open_sockets"),
    ("cuts off its streams", SOCKETS, "a_revoked_key_cuts_off_a_stream"),
    ("Each caller's API key and each reward have a cache", SOCKETS, "idempotency_keys_are_each_callers_own"),
    ("closed with 1002 or 1007 for what breaks RFC 6455", SOCKETS, "misuse_is_closed_and_the_server_goes_on"),
    ("with 1008 for a message that takes over a minute", SOCKETS, "a_message_must_end"),
    ("longest is closed with 1013", SOCKETS, "half_messages_of_many_sockets_share_a_budget"),
    ("reads no answers for a minute is cut off", SOCKETS, "a_client_that_reads_nothing_is_cut_off"),
    ("| 400, 501, 505 |", ORDERED, "what_could_be_understood_in_two_ways_is_refused"),
    ("| 414, 431 |", ORDERED, "no_part_of_a_request_is_without_a_bound"),
    ("| 404, 405 |", PIPELINE, "methods"),
    ("| 413 | the body is larger than 64 MB", FAST, "a_body_too_large_is_refused_while_it_comes"),
    ("| 415 |", PIPELINE, "refusals"),
    ("| 422 |", PIPELINE, "every_unknown_field_is_named"),
    ("| 429 |", PIPELINE, "a_full_queue_says_when_to_come_again"),
    ("| 503 |", PIPELINE, "draining"),
    ("| 504 |", PIPELINE, "a_request_that_waits_too_long_is_told_with_its_id"),
    ("Every response has an `X-Request-Id`", PIPELINE, "request_ids"),
    ("In a batch each sample has its own outcome", DEADLINES, "one_of_a_batch"),
    ("with the header `X-Batch-Errors: fail` a batch fails as a whole", REWARD_SERVER, "failures"),
    ("a repeated `Idempotency-Key` from its cache", PIPELINE, "a_repeated_key_is_answered_from_memory"),
    ("outgrows `--max-memory` is killed and replaced", WORKERS, "memory_that_grows_is_ended"),
    (
        "the worker's other samples run again elsewhere",
        DEADLINES,
        "callers_beside_one_that_crashes_are_answered",
    ),
    ("A busy reward does not delay them", HEALTH, "a_busy_reward_does_not_delay_health"),
    (
        "each request that was refused, failed or took more than a second",
        LOG,
        "errors_and_slow_requests_are_always_logged",
    ),
    ("Requests in flight have `--drain 30s` to finish", DRAIN, "what_is_in_flight_is_finished"),
    ("are not done by then, get 503", DRAIN, "what_is_not_done_in_time_is_answered_503"),
    ("closed with 1001 and a reason", DRAIN, "a_socket_is_answered_and_then_closed_with_a_reason"),
    ("Then the rewards' `cleanup` hooks run", DRAIN, "a_reward_server_cleans_up"),
    ("with status 130", DRAIN, "a_second_ctrl_c_ends_it_at_once"),
    ("so no request is refused", RELOAD, "a_change_is_served_and_no_request_is_refused"),
    ("the previous version keeps serving", RELOAD, "what_does_not_load_is_told_and_the_server_goes_on"),
    ("drops the oldest records at", JOURNAL, "its_size_is_bounded_and_the_oldest_go_first"),
    ("Nothing is sent to a recorded address", ROUTES, "nothing_is_sent_to_a_recorded_host"),
    ("ends with yours", REWARD_SERVER, "a_server_ends_with_the_process_that_started_it"),
)
SANDBOX: Promises = (
    ("They can neither harm the machine", CORPUS, "an_attack_on_the_host_gets_nothing"),
    ("nor forge a verdict", CORPUS, "a_reward_hack_is_not_paid"),
    ("never enter the process that runs the program", HACKS, "the_program_never_gets_what_is_expected"),
    (
        "a forged result is only a guess",
        HACKS,
        "what_a_program_writes_among_its_answers_is_no_more_than_a_guess",
    ),
    ("can be forged, and have `tamper_resistant=False`", HACKS, "live_objects_can_be_forged_and_say_so"),
    (
        "`detail` contains neither input nor expected output",
        JUDGING,
        "what_is_revealed_is_for_the_owner_only",
    ),
    (
        "`total_wall_s` limits the wall time of all of them together",
        RUN,
        "all_tests_together_may_take_so_long",
    ),
    ("| `timeout` | it used more processor time", RUN, "processor_time_is_what_ends_a_slow_program"),
    ("or more time than `wall_s`", RUN, "a_program_that_waits_is_ended_by_the_clock"),
    ("it exceeded this limit", RUN, "how_programs_end"),
    ("the process that ran it was lost twice", JUDGING, "a_lost_worker_is_tried_once_more_and_then_told"),
    ("for all threads together", LANGUAGES, "limits_hold_for_processes_together"),
    ("1 allows no further process; 64 threads are allowed", CORPUS, "an_attack_on_the_host_gets_nothing"),
    ("which is empty before each run", RUN, "what_a_program_leaves_is_gone_for_the_next"),
    ("A sandbox is thread-safe", RUN, "from_many_threads"),
    ("The calling process is never forked", LIFECYCLE, "it_works_in_processes_that_are_unlike_others"),
    (
        "even by SIGKILL, all processes of its sandboxes end",
        LIFECYCLE,
        "nothing_outlives_the_process_that_opened_it",
    ),
    ("A tier is used only if real attempts to escape from it fail", TIERS, "nothing_gets_out_of_a_tier"),
    ("those of root run as nobody", TIERS, "programs_of_root_are_nobodys"),
    ("must be requested by name", TIERS, "no_isolation_has_to_be_asked_for"),
    (
        "The exit status is 1 if no tier holds",
        "cli/commands/test_sandbox_command.py",
        "no_tier_is_exit_status_1",
    ),
    ("reaches no file that the program can write", HACKS, "a_tester_imports_nothing_that_the_program_wrote"),
    (
        "the files of the program; these run in its process",
        HACKS,
        "a_test_that_works_with_files_shares_the_programs_process_and_says_so",
    ),
    (
        "tests that may run what the program returned",
        "sandbox/grading/test_answers_flow.py",
        "a_test_that_may_run_an_answer_says_that_it_can_be_forged",
    ),
    (
        "have 90 s; after either the remaining tests fail",
        "sandbox/grading/test_answers_flow.py",
        "output_that_is_slow_to_check_is_wrong",
    ),
    ("What is allowed is a list", "sandbox/inside/test_seccomp.py", "no_call_is_allowed_but_those_above"),
    ("other users may move is refused", WORKDIRS, "a_place_where_others_move_everything_is_refused"),
    (
        "another fork server takes the next program",
        LIFECYCLE,
        "a_fork_server_that_empties_for_too_long_is_replaced",
    ),
    ("ever in its memory", CORPUS, "an_attack_on_the_host_gets_nothing"),
    ("A fork server that crashes is replaced", LIFECYCLE, "an_idle_fork_server_that_was_killed_is_replaced"),
    ("its job runs once more", LIFECYCLE, "a_job_whose_fork_server_was_killed_is_run_once_more"),
    ("Other languages](languages.md) run in the same isolation", LANGUAGES, "files_of_the_host_are_not_read"),
)
ATTACKED, NOTHING = "serve/test_serve_corpus.py", "an_attack_on_the_server_gets_nothing"
HOSTILE = "rewards/test_rewards_hostile.py"
SECURITY: Promises = (
    ("A tier is used only if real attempts to escape fail in it", TIERS, "nothing_gets_out_of_a_tier"),
    ("The corpus in `tests/sandbox/corpus` runs on each tier", CORPUS, "an_attack_on_the_host_gets_nothing"),
    (
        "learn that a file of the host exists",
        RUN,
        "what_the_landlock_tier_shows_of_a_file_is_what_the_page_says",
    ),
    ("see expected values", HACKS, "the_program_never_gets_what_is_expected"),
    ("decide its own verdict", HACKS, "a_tester_imports_nothing_that_the_program_wrote"),
    ("or void it", LIFECYCLE, "a_verdict_does_not_wait_for_the_working_directory_to_be_emptied"),
    ("outlive its run", CORPUS, "nothing_is_left_after_all_attacks"),
    ("Reading it is bounded in time and memory", HOSTILE, "some_texts"),
    ("an error has no score", "end_to_end/test_never_a_number_table.py", "what_is_wrong_is_none"),
    ("stop the server", ATTACKED, NOTHING),
    (
        "have other clients' answers lost or mixed up",
        DISPATCHED,
        "a_reply_that_cannot_be_sent_keeps_no_other_from_being",
    ),
    (
        "hold more connections, headers, bodies, messages or time",
        ORDERED,
        "no_part_of_a_request_is_without_a_bound",
    ),
    (
        "use the server from a browser page of another host",
        "serve/http/test_admission_hosts.py",
        "names_of_others",
    ),
    (
        "refuses an address that other machines reach without a key",
        PIPELINE,
        "a_server_that_others_reach_insists_on_a_key",
    ),
    (
        "which can be rotated while it runs",
        "serve/http/test_websocket_limits.py",
        "a_revoked_key_closes_open_sockets",
    ),
    ("leave out what looks like a secret", "serve/test_redaction.py", "secrets_by_their_shape"),
)
PAGES: Mapping[str, Promises] = {
    "docs/serving.md": SERVING,
    "docs/sandbox.md": SANDBOX,
    "SECURITY.md": SECURITY,
}


@functools.cache
def words_of(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


@functools.cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name.removeprefix("test_") for node in tree.body if isinstance(node, kinds))


@pytest.mark.parametrize(
    ("page", "promise", "path", "test"),
    [(page, *promise) for page, promises in PAGES.items() for promise in promises],
)
def test_what_is_promised_is_tested(page: str, promise: str, path: str, test: str) -> None:
    assert promise in words_of(page)
    assert test in names_in(path)
