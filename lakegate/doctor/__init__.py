"""The doctor finds what is wrong with an installation, and says what to run: begin with `checks`.

`checks` judges facts and reads nothing; each check returns findings. `facts` are what it judges. `zones` has where a
network of ours may be.
"""
