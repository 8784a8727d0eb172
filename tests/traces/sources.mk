# make check-traces
UNIT_TESTS += tests/traces/unit_chakra tests/traces/trace_mutation tests/traces/unit_avail tests/traces/unit_flow_read tests/traces/unit_avail_models \
	tests/traces/unit_request_models tests/traces/unit_requests tests/traces/unit_rows tests/traces/unit_stamp tests/traces/unit_trace
SCRIPT_TESTS += tests/traces/chat.sh tests/traces/trace_avail.sh tests/traces/trace_cli.sh tests/traces/trace_import.sh tests/traces/trace_map.sh tests/traces/trace_oracle.sh \
	tests/traces/trace_pinned.sh tests/traces/trace_quirks.sh tests/traces/trace_rename.sh tests/traces/trace_requests.sh tests/traces/trace_synth.sh
