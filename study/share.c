/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "study/share.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "results/store.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SHARES = 1000000 };

int share_parse(const char *text, struct share *out, struct orr_error *err)
{
	int64_t number, count;
	const char *slash = strchr(text, '/');
	bool is_pair = slash && num_int(text, (size_t)(slash - text), &number) && num_int(slash + 1, strlen(slash + 1), &count);
	if (!is_pair || number < 1 || count < number || count > MOST_SHARES)
		return orr_fail(err, ORR_EINPUT, "--shard %.40s: expected K/N with K from 1 to N, and N at most %d", text, MOST_SHARES);
	*out = (struct share){ (unsigned)number, (unsigned)count };
	return ORR_OK;
}

char *share_db(const char *db, const struct share *s)
{
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s.shard-%u-of-%u", db, s->number, s->count);
	return sbuf_steal(&b);
}

/* Characters of the name that glob() treats as special are escaped. */
void share_put_pattern(struct sbuf *b, const char *db)
{
	for (; *db; db++) {
		if (strchr("*?[\\", *db))
			sbuf_putc(b, '\\');
		sbuf_putc(b, *db);
	}
	sbuf_puts(b, ".shard-*[0-9]");
}

char **share_list(const char *db, size_t *n)
{
	struct sbuf pattern = { 0 };
	glob_t found = { 0 };
	char **list = NULL;
	share_put_pattern(&pattern, db);
	*n = glob(sbuf_text(&pattern), 0, NULL, &found) ? 0 : found.gl_pathc;
	list = mem_zalloc(*n + 1, sizeof *list);
	for (size_t i = 0; i < *n; i++)
		list[i] = mem_strdup(found.gl_pathv[i]);
	globfree(&found);
	sbuf_free(&pattern);
	return list;
}

static const char *const sqlite_logs[] = { "-wal", "-shm", "-journal" };

/* Returns whether a log of the shard exists; with `is_removed`, removes it. */
static bool has_log(const char *shard, bool is_removed)
{
	bool found = false;
	struct sbuf log = { 0 };
	for (size_t i = 0; i < sizeof sqlite_logs / sizeof *sqlite_logs; i++) {
		sbuf_clear(&log);
		sbuf_printf(&log, "%s%s", shard, sqlite_logs[i]);
		found |= !access(sbuf_text(&log), F_OK);
		if (is_removed)
			unlink(sbuf_text(&log));
	}
	sbuf_free(&log);
	return found;
}

void share_remove(const char *shard)
{
	unlink(shard);
	has_log(shard, true);
}

int share_recover(const char *shard, struct orr_error *err)
{
	enum { HEADER_BYTES = 4096 }; /* a database that has tables is larger */
	struct stat st;
	if (!has_log(shard, false) && (stat(shard, &st) || st.st_size > HEADER_BYTES))
		return ORR_OK;
	struct store *s = store_open(shard, NULL, err);
	return s ? store_close(s, err) : err->code;
}

void share_free_list(char **list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mem_free(list[i]);
	mem_free(list);
}

/* ---- Slurm ---- */

/* Appends a word of a shell command. */
static void put_word(struct sbuf *b, const char *s)
{
	sbuf_putc(b, '\'');
	for (; *s; s++)
		if (*s == '\'')
			sbuf_puts(b, "'\\''");
		else
			sbuf_putc(b, *s);
	sbuf_putc(b, '\'');
}

static void put_program(struct sbuf *b)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	put_word(b, n > 0 ? path : "orrery");
}

static void put_sweep(struct sbuf *b, const struct slurm_job *j)
{
	put_program(b);
	sbuf_puts(b, " sweep ");
	put_word(b, j->study);
	sbuf_puts(b, " --db ");
	put_word(b, j->db);
}

void slurm_script(struct sbuf *out, const struct slurm_job *j)
{
	sbuf_printf(out, "#!/bin/sh\n#SBATCH --job-name=orrery\n#SBATCH --array=1-%u\n#SBATCH --ntasks=1\n", j->tasks);
	if (j->threads)
		sbuf_printf(out, "#SBATCH --cpus-per-task=%d\n", j->threads);
	sbuf_puts(out, "#SBATCH --output=slurm-%A_%a.out\n");
	put_sweep(out, j);
	sbuf_printf(out, "%s%s%s%s", j->is_retry ? " --retry" : "", j->is_fresh ? " --fresh" : "", j->is_check ? " --check" : "",
		j->is_in_process ? " --in-process" : "");
	limits_put_options(out);
	sbuf_printf(out, " -q -j \"${SLURM_CPUS_PER_TASK:-1}\" --shard \"$SLURM_ARRAY_TASK_ID/%u\"\n", j->tasks);
}

/* Runs a command of the shell with a script on its standard input. Returns its first line of output; NULL: it failed. */
static char *submit(const char *command, const char *script)
{
	char path[] = "/tmp/orrery-slurm-XXXXXX", line[200] = "";
	struct sbuf whole = { 0 };
	int file = mkstemp(path);
	FILE *f = file < 0 ? NULL : fdopen(file, "w"), *p = NULL;
	if (!f)
		return NULL;
	fputs(script, f);
	bool is_written = !fclose(f);
	sbuf_printf(&whole, "%s <%s", command, path);
	p = is_written ? popen(sbuf_text(&whole), "r") : NULL; /* sbatch reads a script from its input */
	bool has_line = p && fgets(line, sizeof line, p);
	bool is_good = p && !pclose(p) && has_line;
	unlink(path);
	sbuf_free(&whole);
	line[strcspn(line, ";\n")] = '\0';
	return is_good && *line ? mem_strdup(line) : NULL;
}

int slurm_submit(const struct slurm_job *j, struct orr_error *err)
{
	struct sbuf script = { 0 }, command = { 0 }, merge = { 0 };
	slurm_script(&script, j);
	sbuf_printf(&command, "sbatch --parsable %s", j->options ? j->options : "");
	char *array = submit(sbuf_text(&command), sbuf_text(&script)), *last = NULL;
	if (array) {
		sbuf_clear(&command);
		sbuf_printf(&command, "sbatch --parsable --dependency=afterany:%s %s", array, j->options ? j->options : "");
		sbuf_puts(&merge, "#!/bin/sh\n#SBATCH --job-name=orrery-merge\n#SBATCH --ntasks=1\n");
		put_sweep(&merge, j);
		sbuf_puts(&merge, " --merge\n");
		last = submit(sbuf_text(&command), sbuf_text(&merge));
	}
	if (last)
		printf("array %s with %u tasks; job %s merges the shards into %s and writes the table to slurm-%s.out\n", array, j->tasks,
			last, j->db, last);
	int rc = last ? ORR_OK
		      : orr_fail(err, ORR_EFAIL,
				"--slurm: sbatch failed%s: expected a machine that can submit jobs to Slurm; --slurm N --dry-run prints "
				"the script",
				array ? " for the job that merges the shards" : "");
	mem_free(array);
	mem_free(last);
	sbuf_free(&script);
	sbuf_free(&command);
	sbuf_free(&merge);
	return rc;
}
