"""The adapter to Kubernetes: the only package that speaks to an API server.

    client      configuration, TLS and credentials by the official package; bytes in, bytes out
    api         what a request is, how an API server says no, and which project error that becomes
    pod_driver  the Pods port: create, delete, get
    watch_loop  list-watch of pods; ``nodes`` does the same for nodes
    decode      bytes to observations, reading only the fields we use
    retrying    the one place where single calls are repeated
    work_queue  keyed queue: one worker a key, duplicates collapse
    backoff, limiter   pure arithmetic of waiting

The official package's models are not used: decoding a pod with them costs fifty times what decoding the fields we read
does, and a relist of 5,000 pods would stop the event loop for seconds.
"""
