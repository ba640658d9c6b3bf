"""Python that has imported torch already: what a test starts is there in a tenth of a second and not after five.

Most of what a program of ours computes in a test of a few seconds is the import of torch, TorchRL and Ray, and a test
run starts some hundreds of them. So one process imports them, and a program is a fork of it (:class:`.program.Program`)
with the words, environment, folder and files that it was given, as it would be without. Ray and TorchRL read the
environment while they are imported: a program whose environment differs imports them itself (:mod:`.environments`). The
workers and the log monitor of a Ray are forks, too (:mod:`.ray_workers`).

A program ends without the end of its interpreter, which takes apart what was imported for as long again. ``make run``,
the pods of the real nodes and the processes of transports start and end as they do for users.
"""
