"""Yodel: a YARN ResourceManager whose containers are Kubernetes pods."""

__version__ = "0.1.0"
