# What containers run in (the RM's setting `image`): a shell, Java, Python.  Frameworks come with the job, or are added here.
#
#   docker build -f docker/runtime.Dockerfile -t yodel/hadoop-runtime .
#
# A parked pod needs sh and bash; setsid (util-linux) and tail (coreutils) are used when they are there.  Pods name the
# user they run as, so the one below is only the default.

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bash coreutils openjdk-17-jre-headless procps python3 util-linux \
 && rm -rf /var/lib/apt/lists/* \
 && dirname "$(dirname "$(readlink -f /usr/bin/java)")" > /etc/java-home \
 && ln -s "$(cat /etc/java-home)" /opt/java
ENV JAVA_HOME=/opt/java
USER 65534
CMD ["/bin/bash"]
