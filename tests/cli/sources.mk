# make check-cli
SCRIPT_TESTS += tests/cli/calib_beside.sh tests/cli/cli_commands.sh tests/cli/cli_doctor.sh tests/cli/trace_get.sh tests/cli/cli_db.sh tests/cli/cli_explain.sh tests/cli/report.sh tests/cli/figures_look.sh tests/cli/db_inspect.sh tests/cli/cli_measures.sh tests/cli/cli_scenario.sh tests/cli/cli_shown.sh tests/cli/tables.sh tests/cli/cli_outputs.sh tests/cli/cli_signals.sh tests/cli/cli_inputs.sh tests/cli/cli_limits.sh tests/cli/tutorial.sh
EXTRA_DIST += tests/cli/figure_svg.py tests/cli/range_server.py tests/cli/report_page.py tests/cli/report_browser.py
