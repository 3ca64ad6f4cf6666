"""The RM's web side: ``/ws/v1/cluster`` as Hadoop's RMWebServices answers it, its servlets (``/jmx``, ``/conf``, …), a
few pages, the web proxy, and ``/api/v1``, which is ours.

    app          the factory; ``server`` runs it inside our own loop
    standby      the same ports while another ResourceManager leads
    html         what pages are made of
    door/        what a request passes before any route sees it
    hadoop/      YARN's own routes and their shapes
    v1/          ``/api/v1``, its documents and its stream of events
    proxy/       ``/proxy/<application id>/…``
    ui/          pages for people

JSON and XML are made of the same plain values; ``yodel.hadoop_http``, which node agents share, knows the media types
and the forms of errors.
"""
