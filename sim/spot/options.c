/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "spot/spot.h"

const struct orr_param spot_options[] = { ORR_PARAM_TIME(
						  "startup", "0", "time from the acceptance of an offer until the instance is ready"),
	ORR_PARAM_TIME("on_demand_startup", "0", "time from the request of an on-demand instance until it is ready"),
	ORR_PARAM_TIME("notice", "0", "time between the notice and the removal of an instance; 0: no notice"),
	ORR_PARAM_REAL("price", "1", 0, 1e6, "USD per hour of a spot instance that has no price in the trace or the price series"),
	ORR_PARAM_REAL("on_demand_price", "3", 0, 1e6, "USD per hour of an on-demand instance"),
	ORR_PARAM_REAL("max_price", "0", 0, 1e6, "highest accepted price of a spot instance, USD per hour; 0: no limit"),
	ORR_PARAM_CHOICE("billing", "second", "second|hour", "hour: a started hour is paid in full"),
	ORR_PARAM_INT("target", "0", 0, 1e6, "spot instances requested at the start; 0: all that are offered"),
	ORR_PARAM_INT("quota", "0", 0, 1e6, "maximum number of live spot instances; 0: no limit"),
	ORR_PARAM_INT("on_demand_quota", "0", 0, 1e6, "maximum number of live on-demand instances; 0: no limit"),
	ORR_PARAM_TIME("deadline", "0", "deadline of the job; 0: none"),
	ORR_PARAM_BOOL("endless", false, "the job has no last step: it trains until the run ends"),
	ORR_PARAM_REAL("storage_Bps", "1e9", 1, 1e18, "bandwidth of the checkpoint storage, bytes per second, for all nodes together"),
	ORR_PARAM_REAL("node_Bps", "1.25e9", 1, 1e18, "bandwidth of one node to that storage, bytes per second"),
	ORR_PARAM_TIME("storage_latency", "0", "latency added to each write or read of a checkpoint"),
	ORR_PARAM_REAL("egress_usd_per_GB", "0", 0, 1e6, "USD per 10^9 bytes sent between zones"),
	ORR_PARAM_TEXT("speeds", "", "TYPE=SPEED,..: speeds of instance types relative to the nodes of the job's step times"),
	ORR_PARAM_INT("max_calls_per_instant", "1000", 1, 1e9, "decide() calls at one instant before the run ends with an error"),
	ORR_PARAM_REAL("ci_level", "0.95", 0.5, 0.999999, "level of the confidence intervals"), ORR_PARAM_END };
