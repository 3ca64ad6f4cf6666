"""Submissions, kills and changes of applications, and the start of their ApplicationMasters."""
