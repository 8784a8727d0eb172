/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The trace formats: one line each. Sniffing asks in this order: the Muri columns
 * include the Tiresias ones, so muri comes first. */
#include "traces/format.h"

extern const struct trace_format format_philly, format_muri, format_tiresias, format_openb, format_openb_nodes, format_orrery, format_gavel,
	format_swf;
/* Of requests. */
extern const struct trace_format format_azure_llm, format_mooncake, format_burstgpt, format_splitwise, format_vidur, format_requests;
/* Of instances that come and go. parcae-counts comes before step-curve, which any two columns of numbers are. */
extern const struct trace_format format_bamboo, format_gcp_polls, format_parcae_counts, format_step_curve, format_parcae_segment,
	format_skypilot, format_availability, format_prices;

const struct trace_format *const trace_formats[] = {
	&format_philly,
	&format_muri,
	&format_tiresias,
	&format_openb,
	&format_openb_nodes,
	&format_orrery,
	&format_azure_llm,
	&format_mooncake,
	&format_burstgpt,
	&format_splitwise,
	&format_vidur,
	&format_requests,
	&format_bamboo,
	&format_gcp_polls,
	&format_parcae_counts,
	&format_step_curve,
	&format_parcae_segment,
	&format_skypilot,
	&format_availability,
	&format_prices,
	&format_gavel,
	&format_swf,
	NULL,
};
