/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/results/faultvfs.h"

#include <sqlite3.h>
#include <string.h>

static struct {
	int countdown, code;
	bool is_armed, is_lasting, has_struck;
} fault;

void fault_arm(int n, int code, bool lasting)
{
	fault.countdown = n;
	fault.code = code;
	fault.is_armed = true;
	fault.is_lasting = lasting;
	fault.has_struck = false;
}

void fault_disarm(void)
{
	fault.is_armed = false;
}

bool fault_has_struck(void)
{
	return fault.has_struck;
}

/* Counts a change of a file. Returns SQLITE_OK, or the error code with which the change must fail. */
static int strike(void)
{
	if (!fault.is_armed)
		return SQLITE_OK;
	if (fault.countdown > 0)
		fault.countdown--;
	bool hits = fault.countdown == 0 && (!fault.has_struck || fault.is_lasting);
	fault.has_struck |= hits;
	return hits ? fault.code : SQLITE_OK;
}

struct shim {
	sqlite3_file base;
	sqlite3_file *real; /* stored in the same allocation */
};

static sqlite3_vfs *below;

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct shim *)f)->real;
}

static int shim_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

static int shim_read(sqlite3_file *f, void *to, int n, sqlite3_int64 at)
{
	return real_of(f)->pMethods->xRead(real_of(f), to, n, at);
}

static int shim_write(sqlite3_file *f, const void *from, int n, sqlite3_int64 at)
{
	int code = strike();
	/* A failing disk may have written some of the bytes. */
	if (code)
		real_of(f)->pMethods->xWrite(real_of(f), from, n / 2, at);
	return code ? code : real_of(f)->pMethods->xWrite(real_of(f), from, n, at);
}

static int shim_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	int code = strike();
	return code ? code : real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int shim_sync(sqlite3_file *f, int flags)
{
	int code = strike();
	return code ? code : real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int shim_size(sqlite3_file *f, sqlite3_int64 *size)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int shim_lock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int shim_unlock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int shim_is_reserved(sqlite3_file *f, int *out)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int shim_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int shim_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int shim_traits(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
	return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}

static int shim_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
	return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int shim_shm_unmap(sqlite3_file *f, int delete)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), delete);
}

static const sqlite3_io_methods methods = { .iVersion = 2,
	.xClose = shim_close,
	.xRead = shim_read,
	.xWrite = shim_write,
	.xTruncate = shim_truncate,
	.xSync = shim_sync,
	.xFileSize = shim_size,
	.xLock = shim_lock,
	.xUnlock = shim_unlock,
	.xCheckReservedLock = shim_is_reserved,
	.xFileControl = shim_control,
	.xSectorSize = shim_sector,
	.xDeviceCharacteristics = shim_traits,
	.xShmMap = shim_shm_map,
	.xShmLock = shim_shm_lock,
	.xShmBarrier = shim_shm_barrier,
	.xShmUnmap = shim_shm_unmap };

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
	struct shim *s = (struct shim *)f;
	(void)vfs;
	s->base.pMethods = NULL;
	s->real = (sqlite3_file *)(s + 1);
	int code = flags & SQLITE_OPEN_CREATE ? strike() : SQLITE_OK;
	if (code)
		return SQLITE_CANTOPEN;
	code = below->xOpen(below, name, s->real, flags, out_flags);
	if (!code)
		s->base.pMethods = &methods;
	return code;
}

static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
	(void)vfs;
	int code = strike();
	return code ? SQLITE_IOERR_DELETE : below->xDelete(below, name, sync);
}

void fault_register(void)
{
	static sqlite3_vfs vfs;
	below = sqlite3_vfs_find(NULL);
	vfs = *below; /* functions that get the vfs read its pAppData, which has the same value */
	vfs.pNext = NULL;
	vfs.zName = FAULT_VFS;
	vfs.szOsFile = (int)sizeof(struct shim) + below->szOsFile;
	vfs.xOpen = shim_open;
	vfs.xDelete = shim_delete;
	sqlite3_vfs_register(&vfs, 0);
}
