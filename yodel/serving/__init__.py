"""Shares what every port of a daemon needs, whatever its protocol: caller identities, turns of the loop, ends of
connections.

sites, proxy_users       by what callers are told apart, and who may speak for whom
http_cookie, node_token  how a caller proves again who it is
node_calls               how the ResourceManager proves to a node agent for whom it calls
turns, pieces            long work, done a piece at a time between the calls of others
lingering, open_files    how a connection ends, and how many there may be
"""
