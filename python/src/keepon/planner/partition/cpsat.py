# SPDX-License-Identifier: BSD-3-Clause
"""Runs CP-SAT so that Ctrl-C and a time limit end it, and reports its progress. Other modules make
the models.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

from ortools.sat.python import cp_model

from keepon.planner.partition.limits import Limits, WorkClock


@dataclass(frozen=True)
class Solved:
    """A status of cp_model, FEASIBLE, INFEASIBLE, OPTIMAL or UNKNOWN, and the solver with the
    values.
    """

    status: cp_model.CpSolverStatus
    solver: cp_model.CpSolver

    @property
    def found(self) -> bool:
        return self.status in (cp_model.OPTIMAL, cp_model.FEASIBLE)

    @property
    def impossible(self) -> bool:
        return self.status == cp_model.INFEASIBLE


def solve(model: cp_model.CpModel, limits: Limits, what: str) -> Solved:
    """Run a model until it is decided, the limits are reached, or Ctrl-C, which ends the search and
    is raised again.

    Args:
        what: the problem, for progress.
    """
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = limits.workers
    solver.parameters.random_seed = limits.seed % 2**31
    left = limits.left_s()
    if left <= 0:
        return Solved(cp_model.UNKNOWN, solver)
    if isinstance(limits.clock, WorkClock):
        solver.parameters.max_deterministic_time = left
    elif left < math.inf:
        solver.parameters.max_time_in_seconds = left
    solver.parameters.catch_sigint_signal = False
    limits.progress(what)
    solved = Solved(_run(solver, model, what), solver)
    if isinstance(limits.clock, WorkClock):
        limits.clock.add(solver.deterministic_time)
    return solved


def _run(solver: cp_model.CpSolver, model: cp_model.CpModel, what: str) -> cp_model.CpSolverStatus:
    """Solve in a thread, so that Ctrl-C on the main thread ends the search."""
    if threading.current_thread() is not threading.main_thread():
        return solver.solve(model)
    statuses: list[cp_model.CpSolverStatus] = []
    # The search runs in C++; only the main thread can see Ctrl-C, and only while it runs Python.
    search = threading.Thread(target=lambda: statuses.append(solver.solve(model)), daemon=True)
    search.start()
    try:
        while search.is_alive():
            search.join(0.2)
    except KeyboardInterrupt:
        solver.stop_search()
        search.join()
        raise
    if not statuses or statuses[0] == cp_model.MODEL_INVALID:
        raise RuntimeError(f"CP-SAT gave no answer for the model of: {what}")
    return statuses[0]
