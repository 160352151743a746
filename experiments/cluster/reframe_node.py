# SPDX-License-Identifier: MIT
"""A ReFrame test of a node: experiments/node.cfg runs, every measured point is right, throughput is kept an eye on.

    reframe -c experiments/cluster/reframe_node.py -r -S node_test.project=$PWD

Put the figures of your own machines into `reference`, as ReFrame's manual says; without them it only reports.
"""
import csv
import io

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.builtins import performance_function, run_before, sanity_function, variable

MEASURED = {"ok", "unstable"}  # unstable: right, but a busy node's time


@rfm.simple_test
class node_test(rfm.RunOnlyRegressionTest):
    descr = "convscale: cores and GPUs of a node"
    project = variable(str, value=".")
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    exclusive_access = True
    time_limit = "20m"

    @run_before("run")
    def set_command(self):
        self.executable = f"{self.project}/run_sweep"
        self.executable_opts = ["--no-build", "--out", "results", "--format", "csv", f"{self.project}/experiments/node.cfg"]

    def rows(self):
        with open(self.stagedir + "/" + str(self.stdout), newline="") as text:
            return list(csv.DictReader(io.StringIO(text.read())))

    @sanity_function
    def every_point_is_right(self):
        words = [row["status"] for row in self.rows()]
        measured = sum(word in MEASURED for word in words)
        failed = sum(word in {"mismatch", "error", "oom", "timeout"} for word in words)
        return sn.assert_true(measured > 0 and failed == 0, msg=f"{measured} points measured, {failed} failed")

    def best(self, series):
        rates = [float(row["images_per_second"]) for row in self.rows() if row["series"] == series and row["status"] in MEASURED]
        return max(rates, default=0)

    @performance_function("images/s")
    def one_thread(self):
        return self.best("cpu")

    @performance_function("images/s")
    def all_threads(self):
        return self.best("omp")

    @performance_function("images/s")
    def slowest_gpu(self):
        gpus = {row["series"] for row in self.rows() if row["series"].startswith("gpu") and row["status"] in MEASURED}
        return min((self.best(gpu) for gpu in gpus), default=0)
