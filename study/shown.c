/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/shown.h"

#include "base/num.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t shown_width(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	int64_t v;
	if (text && num_int(text, strlen(text), &v) && v >= 20 && v <= 10000)
		return (size_t)v;
	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}
