"""Start Python programs as forks of a process that has imported torch. They start in 0.1 s instead of 5 s.

In a test of a few seconds, a program spends most of its CPU time on the import of torch, TorchRL and Ray. A test run
starts some hundreds of programs. So one process imports these modules, and each program is a fork of this process
(:class:`.program.Program`). A program has its own arguments, environment, folder and files, as without forks. Ray and
TorchRL read the environment during their import, so programs with different environments are forks of different
processes (:mod:`.environments`). The workers and the log monitor of a Ray are forks, too (:mod:`.ray_workers`).

A program ends without the finalization of its interpreter, which would take as long as the imports. ``make run``, the
pods on real nodes and the processes of transports start and end as they do for users.
"""
