"""Attacks on a cluster; each prints held or works, with what the neighbours waited for."""

from tests.attacks import browser, http_floods, numbers, proxy, rpc_floods, submissions

AREAS = (rpc_floods, http_floods, browser, proxy, numbers, submissions)
