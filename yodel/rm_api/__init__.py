"""The RM's web side: ``/ws/v1/cluster`` as Hadoop's RMWebServices answers it, its servlets (``/jmx``, ``/conf``, …), a
few pages, the web proxy, and ``/api/v1``, which is ours.

    app          the factory; ``server`` runs it inside our own loop
    standby      the same ports while another ResourceManager leads
    context      settings and what every route is given
    gate         what stands before every route: ``authentication``, ``csrf``, tokens by ``op=`` (``token_operations``)
    front        one spelling of every path, the headers every answer carries, who reads and who writes
    compression  gzip; ``replay`` gives the same answer again while nothing has changed
    bodies       bounded reading and parsing of request bodies (``xml_bodies``, ``body_room``, ``body_turns``)
    routes/      one module per resource; each gives a list of routes
    wire/        the exact YARN shapes, field by field
    application_lists, listing, rendered
                 long lists: made once, shared by all who read them, sent in parts
    pages        the HTML there is
    proxy        ``/proxy/<application id>/…``
    v1/          ``/api/v1``, its documents and its stream of events

JSON and XML are made of the same plain values; ``yodel.hadoop_http``, which node agents share, knows the media types
and the forms of errors.
"""
