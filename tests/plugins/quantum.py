# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/plugins/quantum.c in Python: round robin with a time slice, with timers, preemption and a list of running jobs."""
from orrery.jobs import *

params = [ORR_PARAM_TIME("slice", "1h", "time after which a job makes room")]


class Quantum:
    def create(self, w, args):
        self.waiting = orr_queue_new(w)
        self.slice_ns = orr_arg_time_ns(args, "slice")
        self.turn = 0
        self.since = {}  # start of the slice of each running job, in order

    def destroy(self):
        orr_queue_free(self.waiting)

    def wait(self, j):
        orr_queue_add(self.waiting, j, self.turn, 0)
        self.turn += 1

    def arrive(self, w, j):
        self.wait(j)

    def finish(self, w, j, how):
        self.since.pop(j, None)
        orr_queue_remove(self.waiting, j)

    def rotate(self, w):
        """Stops the jobs whose slice is over, if jobs wait."""
        for j, since in list(self.since.items()):
            if since + self.slice_ns <= orr_now(w) and orr_queue_first(self.waiting):
                orr_stop(w, j)
                del self.since[j]
                self.wait(j)

    def schedule(self, w):
        self.rotate(w)
        walk = orr_walk_begin(self.waiting)
        while j := orr_walk_next(walk):
            if orr_try_start(w, j):
                orr_queue_remove(self.waiting, j)
                self.since[j] = orr_now(w)
            else:
                orr_walk_skip_shape(walk)
        orr_walk_end(walk)
        ends = [since + self.slice_ns for since in self.since.values()]
        orr_timer(w, min((end for end in ends if end > orr_now(w)), default=ORR_NEVER))


ORR_POLICY_JOBS("py_quantum", "round robin with a time slice", params, Quantum)
