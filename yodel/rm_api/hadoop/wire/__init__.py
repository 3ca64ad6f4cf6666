"""The shapes of ``/ws/v1/cluster``, written out field by field (the DAO classes of RMWebServices in Hadoop 3.5).

Pure: domain values and views in, plain values for an encoder out.  Held by bodies recorded from a real ResourceManager.
"""
