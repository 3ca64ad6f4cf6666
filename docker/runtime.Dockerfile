# What containers run in (the RM's setting `image`): a shell, Java, Python and the libraries that Hadoop's native code loads.
# Frameworks come with the job (Spark's archive, MapReduce's), or are added here.
#
#   docker build -f docker/runtime.Dockerfile -t yodel/hadoop-runtime:0.1.0 .
#
# A parked pod needs sh and bash; setsid (util-linux) and tail (coreutils) are used when they are there.  Launch scripts of
# Hadoop call grep, sed, find and hostname.  Pods name the user they run as, so the one below is only the default.

# Java's modules that Hadoop, Spark, Flink and Tez use, all that the full runtime has, without its documentation.
FROM debian:bookworm-slim AS java
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
 && mkdir /java \
 && cp -aL "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")/." /java/ \
 && rm -rf /java/man /java/legal

FROM debian:bookworm-slim
# libisal2, libsnappy1v5, libzstd1, liblz4-1, libbz2-1.0, zlib1g, libssl3: what libhadoop.so opens when it is there.
# libnss and fonts are left out: nothing in a container draws.
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      bash ca-certificates coreutils findutils grep hostname procps python3 sed tzdata util-linux \
      libbz2-1.0 libisal2 liblz4-1 libsnappy1v5 libssl3 libzstd1 zlib1g \
 && rm -rf /var/lib/apt/lists/*
# The package's configuration files and certificates are links to /etc: the copy holds what they led to.
COPY --from=java /java /opt/java
ENV JAVA_HOME=/opt/java PATH=/opt/java/bin:$PATH LANG=C.UTF-8
USER 65534:65534
CMD ["/bin/bash"]
