"""The RM's web side: ``/ws/v1/cluster`` as Hadoop's RMWebServices answers it, a few pages, and the web proxy.

    app         the factory; ``server`` runs it inside our own loop
    context     settings and what every route is given
    front       the ASGI rim: who calls, trailing slashes, the headers every answer carries
    auth        ``user.name`` and the signed ``hadoop.auth`` cookie
    negotiate   which representation a caller gets: the only place that knows media types
    bodies      bounded reading and parsing of request bodies
    errors      exceptions to RemoteException answers
    wire/       the exact YARN shapes, field by field
    routes/     one module per resource; each gives a list of routes
    proxy       ``/proxy/<application id>/…``

JSON only: what accepts nothing but XML is answered 406 until the XML representation is made.
"""
