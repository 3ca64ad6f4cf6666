"""What the machine gives: users, directories, disks, processes that become somebody, tasks."""
