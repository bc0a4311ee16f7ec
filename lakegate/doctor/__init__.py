"""The doctor finds what is wrong with an installation, and says what to run: begin with `checks`.

`checks` judges facts and reads nothing; each check returns findings. `preflight` judges those of an account in which
nothing is made yet. `facts` are what both judge. `zones` has where a
network of ours may be.
"""
