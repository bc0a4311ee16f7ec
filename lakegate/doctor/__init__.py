"""What is wrong with an installation, and what to run: begin with `checks`.

`checks` judges facts and reads nothing; each check returns findings. `facts` are what it judges.
"""
