# SPDX-License-Identifier: GPL-3.0-or-later
"""las of policies/jobs/las.c in Python, for one type of whole GPUs: queues by attained running time, with timers and preemption."""
from math import ceil

from orrery.jobs import *

params = [
    ORR_PARAM_LIST("limits", "3250s,7200s", "attained service at which a job moves one queue down"),
]


class Queue:
    def __init__(self, w):
        self.running, self.tail = [], []  # jobs in order; tail: moved down from the queue above in this pass
        self.waiting = orr_queue_new(w)
        self.front = self.back = 0

    def add_back(self, j):
        self.back += 1
        orr_queue_add(self.waiting, j, self.back, 0)

    def settle(self, w, jobs, to_front):
        """Moves the jobs of a list that were stopped to the waiting jobs; returns the others."""
        stopped = [j for j in jobs if not orr_job_is_running(w, j)]
        for j in reversed(stopped) if to_front else stopped:
            if to_front:
                self.front -= 1
                orr_queue_add(self.waiting, j, self.front, 0)
            else:
                self.add_back(j)
        return [j for j in jobs if orr_job_is_running(w, j)]


class Las:
    def create(self, w, args):
        self.limits = orr_arg_list(args, "limits")
        if any(not (b > a) for a, b in zip([0] + self.limits, self.limits)):
            orr_fail("limits: expected numbers above 0 in ascending order")
        self.queues = [Queue(w) for _ in range(len(self.limits) + 1)]
        self.next_look, self.is_due = ORR_NEVER, False

    def destroy(self):
        for q in self.queues:
            orr_queue_free(q.waiting)

    def arrive(self, w, j):
        self.queues[0].add_back(j)
        self.is_due = True

    def finish(self, w, j, how):
        for q in self.queues:
            if j in q.running:
                q.running.remove(j)
                break
            if orr_queue_remove(q.waiting, j):
                break
        self.is_due = True

    def schedule(self, w):
        if not self.is_due and orr_now(w) != self.next_look:
            return  # a timer of an earlier pass
        self.is_due = False
        self.demote(w)
        self.run(w)
        self.look_ahead(w)

    def demote(self, w):
        """Moves running jobs that have reached the limit of their queue to the tail of the next one."""
        for i in reversed(range(len(self.limits))):
            q = self.queues[i]
            down = [j for j in q.running if not orr_job_attained_ns(w, j) / 1e9 < self.limits[i]]
            self.queues[i + 1].tail = sorted(down, key=lambda j: orr_job_number(w, j))
            if down:
                q.running = [j for j in q.running if j not in down]

    def choose_running(self, w, jobs, left):
        """Returns the jobs that have no GPUs in this pass, and the GPUs left."""
        out = []
        for j in jobs:
            n = orr_job_gpus(w, j)
            if n <= left:
                left -= n
            else:
                out.append(j)
        return out, left

    def choose_waiting(self, w, q, left):
        chosen, walk = [], orr_walk_begin(q.waiting)
        while left > 0 and (j := orr_walk_next(walk)):
            n = orr_job_gpus(w, j)
            if n <= left:
                left -= n
                chosen.append(j)
            else:
                orr_walk_skip_shape(walk)
        orr_walk_end(walk)
        return chosen, left

    def start(self, w, q, j):
        """Starts a job, stopping victims if that makes room."""
        if not orr_try_start(w, j) and not self.make_room(w, j):
            return False
        orr_queue_remove(q.waiting, j)
        return True

    def make_room(self, w, j):
        while self.victims and not orr_job_is_running(w, self.victims[-1]):
            self.victims.pop()
        if not self.victims or not orr_fits_without(w, j, ORR_ANY_TYPE, self.victims, len(self.victims)):
            return False
        for v in reversed(self.victims):
            if not orr_job_is_running(w, v):
                continue
            orr_stop_with_cost(w, v, 0)
            self.stopped += 1
            if orr_try_start(w, j):
                return True
        return False

    def run(self, w):
        left, parts, self.victims, self.stopped = orr_total_gpus(w), [], [], 0
        for q in self.queues:
            out, left = self.choose_running(w, q.running, left)
            self.victims += out
            chosen, left = self.choose_waiting(w, q, left)
            parts.append(chosen)
            out, left = self.choose_running(w, q.tail, left)
            self.victims += out
        started = [[j for j in part if self.start(w, q, j)] for q, part in zip(self.queues, parts)]
        everything = started == parts and not self.stopped
        for q, part in zip(self.queues, started):
            if self.stopped:
                q.running = q.settle(w, q.running, True)
                q.tail = q.settle(w, q.tail, False)
            q.running += part + q.tail
            q.tail = []
        self.victims = []
        if not everything:
            self.refill(w)

    def refill(self, w):
        """Offers GPUs that the placement left free to all waiting jobs, in order."""
        for q in self.queues:
            walk = orr_walk_begin(q.waiting)
            while orr_free_gpus(w) and (j := orr_walk_next(walk)):
                if self.start(w, q, j):
                    q.running.append(j)
                else:
                    orr_walk_skip_shape(walk)
            orr_walk_end(walk)

    def look_ahead(self, w):
        """Sets a timer for the first time at which a running job reaches the limit of its queue."""
        now, ends = orr_now(w), []
        for limit, q in zip(self.limits, self.queues):
            for j in q.running:
                dt = limit - orr_job_attained_ns(w, j) / 1e9
                if 0 < dt < 4.6e9:
                    ends.append(now + ceil(dt * 1e9))
        self.next_look = min((t for t in ends if t > now), default=ORR_NEVER)
        orr_timer(w, self.next_look)


ORR_POLICY_JOBS("py_las", "least attained running time, in queues", params, Las)
