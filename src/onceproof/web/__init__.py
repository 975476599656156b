"""The web pages: scenarios by night, with the gate's state above, and single runs.

They read the verdict history and the folders of runs, and change neither.
"""
