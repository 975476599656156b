"""What people open in the morning: scenarios down, nights across, and the gate's state above.

It reads the verdict history and the folders of runs, and changes neither.
"""
