# SPDX-License-Identifier: GPL-3.0-or-later
"""fifo of policies/jobs/fifo.c in Python."""
from orrery.jobs import *


class Fifo:
    def create(self, w, args):
        self.waiting = orr_queue_new(w)

    def destroy(self):
        orr_queue_free(self.waiting)

    def arrive(self, w, j):
        orr_queue_add(self.waiting, j, orr_job_submit_ns(w, j), orr_job_number(w, j))

    def finish(self, w, j, how):
        if how == ORR_END_PRUNED:
            orr_queue_remove(self.waiting, j)

    def schedule(self, w):
        while (j := orr_queue_first(self.waiting)) and orr_try_start(w, j):
            orr_queue_remove(self.waiting, j)
        orr_why(w, ORR_WHY_ORDER, j, None)


ORR_POLICY_JOBS("py_fifo", "strictly in order of submission", [], Fifo)
