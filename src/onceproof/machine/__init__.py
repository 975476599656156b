"""Processes, folders and disks of this machine."""
