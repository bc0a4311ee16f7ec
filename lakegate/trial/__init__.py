"""A trial: files of this machine audited by a contract, in one process, without a catalog. It is `lakegate try`.

Begin with `trial`, the page. The audit's steps are `lakegate.audit.run`'s and the engine's source is that of
`lakegate.wap`, which keeps rows on disk, so that memory does not grow with the files: they are appended in a folder
that goes with the trial (`scratch`), and come from files that are mapped into memory (`local`). `questions` are the
checks that can be asked without the lake.
"""
