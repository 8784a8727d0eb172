/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sweep_schema.h - the JSON Schema of a study, docs/study.schema.json */
#ifndef ORR_STUDY_SWEEP_SCHEMA_H
#define ORR_STUDY_SWEEP_SCHEMA_H

extern const char sweep_schema[];

#endif
