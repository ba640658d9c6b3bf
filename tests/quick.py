"""List the tests that `make check` leaves out, so that it ends within three minutes on two cores.

``--quick`` leaves out the tests of ``SLOW``: each took 2 s or more in a run with ``--durations=0`` on two busy cores. A
name means all tests with that name.
"""

from __future__ import annotations

import sys

SLOW = frozenset(
    {
        # data plane
        "test_a_driver_that_cannot_reach_the_api_server_ends_in_order_when_its_pod_is_deleted",
        "test_a_driver_that_is_killed_between_any_two_calls_leaves_a_whole_checkpoint",
        "test_a_driver_that_is_killed_between_any_two_calls_leaves_learners_to_resume",
        "test_a_fault_is_one_sentence_and_a_code",
        "test_a_hook_may_take_an_entry_out_of_each_batch",
        "test_a_missing_right_is_no_error_in_the_middle_of_a_line",
        "test_a_page_without_room_is_the_failure_of_a_volume_and_not_of_a_manifest",
        "test_a_private_authority_is_taken_from_the_manifests_or_the_system",
        "test_a_proxy_of_the_environment_is_asked_however_it_is_written",
        "test_a_shard_without_room_is_refused_in_a_sentence_and_kills_nobody",
        "test_a_signal_ends_it_without_a_traceback",
        "test_a_stopped_member_does_not_block_a_sender_and_later_receives_all_messages_in_order",
        "test_a_stopped_member_with_megabytes_under_way_does_not_keep_a_call_from_others",
        "test_a_watch_of_no_fleets_says_so_and_waits_for_one",
        "test_a_watch_prints_a_line_for_each_change",
        "test_a_watch_that_hangs_prolongs_a_wait_by_a_few_seconds",
        "test_a_watch_that_is_too_old_goes_on_with_what_it_missed",
        "test_a_worker_of_ray_has_what_collectors_need_once_it_has_imported_one_module",
        "test_a_writer_that_is_killed_between_any_two_calls_leaves_whole_parts_and_the_next_one_goes_on_behind_them",
        "test_an_environment_may_have_habits",
        "test_an_outage_does_not_end_a_wait",
        "test_an_outage_in_the_middle_does_not_end_a_wait",
        "test_anybodys_vector_environment_that_leaves_resets_to_others",
        "test_code_that_ends_the_process_of_the_driver_fails_whatever_its_exit_code",
        "test_contributions_of_many_are_what_one_environment_would_have",
        "test_each_field_on_the_page_is_one_of_manifests",
        "test_each_process_draws_its_own_and_repeats_it_with_the_seed",
        "test_environments_of_tensors_on_another_device_give_the_frames_of_the_cpu",
        "test_frames_are_torchrls_and_come_from_the_cpu_and_without_cuda_no_graph_is_recorded",
        "test_frames_are_torchrls_and_nothing_is_compiled_twice",
        "test_frames_are_torchrls_entry_by_entry",
        "test_frames_of_vector_environments_are_torchrls",
        "test_globals_of_a_script_are_those_of_a_module_that_can_be_imported",
        "test_names_are_those_of_fleets_on_the_cluster",
        "test_namespaces_are_those_of_the_cluster",
        "test_of_drivers_that_look_at_any_moments_never_two_hold_the_lease",
        "test_policies_and_written_frames_of_another_device_travel_on_the_cpu",
        "test_processes_of_a_collector_run_published_weights",
        "test_tensorboard_on_a_full_volume_costs_numbers_is_said_in_a_sentence_and_goes_on_once_there_is_room",
        "test_the_client_raises_what_it_documents",
        "test_the_first_dump_of_a_replay_buffer_without_room_is_refused_in_a_sentence_and_kills_nobody",
        "test_the_first_dump_without_room_is_refused_with_its_size_and_kills_nobody",
        "test_the_memory_of_a_built_collector_has_no_name_so_a_killed_collector_leaves_none",
        "test_torchrls_loop_takes_over_from_a_policy_that_writes_into_its_observation",
        "test_torchrls_loop_takes_over_from_an_environment_that_changes_what_it_is_given",
        "test_torchrls_own_environments",
        "test_unusual_environments_give_torchrls_frames",
        "test_wherever_drivers_are_paused_what_the_last_one_resumed_stays_and_the_next_one_resumes_its_learners",
        "test_whoever_lost_the_folder_changes_nothing_and_no_progress_is_lost",
        # resource
        "test_in_whatever_order_a_scheduler_goes_it_places_all",
        "test_what_is_written_is_read_as_it_was",
        # operator
        "test_a_complete_collection_comes_before_there_is_much_to_go_through",
        "test_a_fleet_that_is_looked_at_on_time_is_never_behind",
        "test_a_plan_that_was_carried_out_asks_for_nothing_more",
        "test_a_port_in_use_is_named",
        "test_a_pod_named_for_deletion_exists_and_a_driver_with_progress_keeps_its_job",
        "test_an_operator_that_was_killed_goes_on_where_it_was",
        "test_circles_among_what_is_set_aside_are_collected_once_there_are_twice_as_many_objects",
        "test_deep_items_of_a_list_are_marked_and_the_others_are_as_they_are",
        "test_garbage_that_came_since_is_collected",
        "test_hostile_text_in_any_field_is_refused_or_is_no_part_of_what_runs",
        "test_nothing_is_decided_differently_before_a_fleet_is_looked_at_again",
        "test_nothing_is_made_without_quota_and_a_plan_comes_to_an_end",
        "test_reports_that_differ_in_nothing_that_matters_decide_the_same",
        "test_what_a_complete_collection_leaves_is_not_gone_through_again",
        "test_what_is_set_aside_is_freed_as_any_object",
        "test_what_is_taken_can_be_made_into_children",
        "test_whatever_an_object_holds_other_fleets_are_decided_on_as_before",
        "test_without_a_cluster_it_says_what_to_set",
        # programs
        "test_each_command_has_its_help_and_the_missing_extra_is_marked",
        "test_no_variable_that_is_ignored_is_read_while_they_are_imported",
        "test_the_exit_code_of_a_missing_extra_is_69",
        "test_words_environment_folder_files_and_exit_code_are_its_own",
    }
)
# `make test` also runs these.
FOLDERS = ("tests/contract on processes and Ray", "tests/runtime", "tests/run", "tests/integration", "tests/e2e")


def summary() -> str:
    """Return the folders and tests that `make check` leaves out, each on its own line."""
    lines = [
        "make check left out (make test runs all of it):",
        *(f"  {folder}" for folder in FOLDERS),
        f"  {len(SLOW)} slow tests of tests/unit:",
        *(f"    {name}" for name in sorted(SLOW)),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{summary()}\n")
