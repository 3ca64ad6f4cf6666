"""``/proxy/<application id>/…``: the pages of applications, fetched from where they run and from nowhere else."""
