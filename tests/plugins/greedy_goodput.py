# SPDX-License-Identifier: GPL-3.0-or-later
"""tests/plugins/greedy_goodput.c in Python: GPUs one by one to the job whose goodput grows by the largest factor."""
from orrery.jobs import *

params = [
    ORR_PARAM_TIME("interval", "60s", "time between decisions"),
    ORR_PARAM_REAL("least", "1.05", 1, 100, "a further GPU must raise the goodput by at least this factor"),
]


class Greedy:
    def create(self, w, args):
        self.interval, self.least, self.due = orr_arg_time_ns(args, "interval"), orr_arg_real(args, "least"), 0
        self.per_node = orr_node_get(w, 0).gpus

    def arrive(self, w, j):
        pass

    def finish(self, w, j, how):
        pass

    def goodput(self, w, j, gpus):
        return orr_job_goodput(w, j, -(-gpus // self.per_node), gpus)

    def schedule(self, w):
        if orr_now(w) < self.due or not orr_job_first(w):
            return
        left, plan, j = orr_total_gpus(w), {}, orr_job_first(w)
        while j and left:
            plan[j] = [1, orr_job_most_gpus(w, j), self.goodput(w, j, 1), self.goodput(w, j, 2)]
            j, left = orr_job_next(w, j), left - 1
        while left:
            found, most = 0, self.least
            for j, (gpus, limit, now, more) in plan.items():
                if gpus < limit and now > 0 and more / now > most:
                    found, most = j, more / now
            if not found:
                break
            p, left = plan[found], left - 1
            p[0], p[2], p[3] = p[0] + 1, p[3], self.goodput(w, found, p[0] + 2)
        for j, p in plan.items():
            held = orr_job_get(w, j).gpus_held
            if held and held != p[0]:
                orr_stop(w, j)
        for j, p in plan.items():
            if not orr_job_is_running(w, j):
                orr_try_start_sized(w, j, p[0])
        self.due = orr_now(w) + self.interval
        orr_timer(w, self.due)


ORR_POLICY_JOBS("py_greedy_goodput", "GPUs one by one to the job whose goodput grows most", params, Greedy)
