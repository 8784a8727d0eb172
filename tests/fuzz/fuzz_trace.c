/* SPDX-License-Identifier: GPL-3.0-or-later */
/* fuzz_trace.c - the entry point of libFuzzer; ORRERY_FUZZ names the parser. */
#include "tests/fuzz/target.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const char *parser = getenv("ORRERY_FUZZ");
	fuzz_one(parser ? parser : "auto", data, n);
	return 0;
}
