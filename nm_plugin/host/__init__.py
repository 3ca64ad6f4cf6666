"""Wraps the machine: users, directories, disks, processes that change their user, tasks."""
