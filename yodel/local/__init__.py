"""The embedded cluster: a small Kubernetes API server, a tiny scheduler and a kubelet whose containers are processes.

It exists so that ``yodel local`` needs no cluster and so that tests have a fast double of one.  It is held to the real
API server's behaviour by one contract suite; anything larger than one machine is a real cluster's business.
"""
