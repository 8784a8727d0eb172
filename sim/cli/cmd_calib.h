/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd_calib.h - the verbs of "orrery calib", one file each; argv[0] is the verb. */
#ifndef ORR_CLI_CMD_CALIB_H
#define ORR_CLI_CMD_CALIB_H

#include <orrery/api.h>

int calib_run(int argc, char **argv, struct orr_error *err);

#endif
