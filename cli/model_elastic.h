/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model_elastic.h - orrery model list|show --elastic */
#ifndef ORR_CLI_MODEL_ELASTIC_H
#define ORR_CLI_MODEL_ELASTIC_H

#include <orrery/api.h>

int model_elastic_list(bool as_json, struct orr_error *err);
int model_elastic_show(const char *name, bool as_json, struct orr_error *err);

#endif
