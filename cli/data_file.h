/* SPDX-License-Identifier: GPL-3.0-or-later */
/* data_file.h - prints JSON files of the catalogues, for users to start from */
#ifndef ORR_CLI_DATA_FILE_H
#define ORR_CLI_DATA_FILE_H

#include <orrery/api.h>

#include "hwmodel/embedded.h"

/* Prints the JSON text of a name of the catalogue, or of a file, as it is. `what` and `list`: see catalogue_open(). */
int data_file_put(const struct embedded_file *files, const char *what, const char *list, const char *name, struct orr_error *err);

#endif
