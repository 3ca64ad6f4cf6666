# What containers run in (the RM's setting `image`): a shell, Java, Python and the libraries that Hadoop's native code loads.
# Frameworks come with the job (Spark's archive, MapReduce's), or are added in an image made FROM this one.
#
#   docker build -f docker/runtime.Dockerfile -t yodel/hadoop-runtime:0.1.0 .
#
# A parked pod needs sh and bash; setsid (util-linux) and tail (coreutils) are used when they are there.  Launch scripts of
# Hadoop call grep, sed, find and hostname.  Pods name the user they run as, so the one below is only the default.

FROM debian:bookworm-slim
# The second line is what libhadoop.so opens when it is there: compression, erasure coding, encryption.
RUN apt-get update \
 && apt-get install -y --no-install-recommends \
      bash ca-certificates coreutils findutils grep hostname openjdk-17-jre-headless procps python3 sed tzdata util-linux \
      libbz2-1.0 libisal2 liblz4-1 libsnappy1v5 libssl3 libzstd1 zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && ln -s "$(dirname "$(dirname "$(readlink -f /usr/bin/java)")")" /opt/java \
 && /opt/java/bin/java -version
ENV JAVA_HOME=/opt/java LANG=C.UTF-8
USER 65534:65534
CMD ["/bin/bash"]
