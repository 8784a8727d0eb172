/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks of MPI. The only file that needs MPI: configure --with-mpi. */
#include "study/share.h"

#include "config.h"

#ifdef HAVE_MPI

#include <mpi.h>
#include <stdlib.h>

static void end(void)
{
	MPI_Finalize();
}

struct share share_of_rank(void)
{
	static struct share share;
	static bool is_known;
	int rank = 0, size = 1;
	if (is_known)
		return share;
	is_known = true;
	/* Set by mpirun, or by srun --mpi=pmix. A process that neither started needs no MPI_Init(), which takes 0.2 s. */
	if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMIX_RANK"))
		return share;
	MPI_Init(NULL, NULL);
	atexit(end);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > 1)
		share = (struct share){ (unsigned)rank + 1, (unsigned)size };
	return share;
}

int share_worst(int code)
{
	int worst = code;
	MPI_Allreduce(&code, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
	return worst;
}

#else

struct share share_of_rank(void)
{
	return (struct share){ 0, 0 };
}

int share_worst(int code)
{
	return code;
}

#endif
