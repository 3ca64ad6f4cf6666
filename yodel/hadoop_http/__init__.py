"""What the daemons' web ports share: how a value, a refusal or Jetty's own page becomes the answer that was asked for.

``negotiate`` chooses JSON or XML, ``xml`` writes the latter, ``errors`` are refusals as Hadoop words them, ``jetty`` is
what no servlet answers; ``bounded_http`` hangs up on who sends no end of a head or nothing, ``connections`` says who
goes when there are too many; ``probe_port`` is what Kubernetes asks beside all that; ``addresses`` says
what the addresses are that a stranger's URL leads to.  Nothing here knows what is served.
"""
