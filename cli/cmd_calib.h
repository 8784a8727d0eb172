/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cmd_calib.h - the verbs of "orrery calib", one function each; argv[0] is the verb. */
#ifndef ORR_CLI_CMD_CALIB_H
#define ORR_CLI_CMD_CALIB_H

#include "hwmodel/profile.h"

int calib_run(int argc, char **argv, struct orr_error *err);
int calib_fit(int argc, char **argv, struct orr_error *err);
int calib_scale(int argc, char **argv, struct orr_error *err);
int calib_list(int argc, char **argv, struct orr_error *err);
int calib_show(int argc, char **argv, struct orr_error *err);
int calib_diff(int argc, char **argv, struct orr_error *err);
int calib_check(int argc, char **argv, struct orr_error *err);

/* Returns the data sheet of a profile's device; NULL if the catalogue lacks it. */
struct device *calib_device(const struct profile *p);

#endif
