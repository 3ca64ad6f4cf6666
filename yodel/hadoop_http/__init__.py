"""Shares the answers of the daemons' web ports: values, refusals and Jetty's own pages.

``negotiate`` chooses JSON or XML, ``xml`` writes the latter, ``errors`` are refusals in Hadoop's words, ``jetty``
answers what no servlet does; ``bounded_http`` disconnects callers who send an endless head or nothing, ``connections``
chooses which one to close when there are too many; ``probe_port`` answers Kubernetes' probes; ``addresses`` resolves
the hosts of strangers' URLs.  Nothing here knows what is served.
"""
