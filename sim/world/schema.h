/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * schema.h - the JSON Schema of scenarios, from the descriptors of the worlds
 */
#ifndef ORR_WORLD_SCHEMA_H
#define ORR_WORLD_SCHEMA_H

/* Returns the text of docs/scenario.schema.json; free with mem_free. */
char *scenario_schema(void);

#endif
