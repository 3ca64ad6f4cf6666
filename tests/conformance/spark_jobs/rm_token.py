"""Hadoop's own client of delegation tokens: ``rm_token.py fetch FILE RENEWER``, ``renew FILE`` or ``cancel FILE``.

FILE is one for HADOOP_TOKEN_FILE_LOCATION.  Prints what became of the token as JSON: ``expires_ms`` and ``max_ms``.
"""

import json
import sys

from pyspark.java_gateway import launch_gateway


def main() -> None:
    command, file = sys.argv[1:3]
    jvm = launch_gateway().jvm
    configuration = jvm.org.apache.hadoop.yarn.conf.YarnConfiguration()
    credentials = jvm.org.apache.hadoop.security.Credentials()
    path = jvm.org.apache.hadoop.fs.Path(file)
    if command == "fetch":
        service = jvm.org.apache.hadoop.yarn.client.ClientRMProxy.getRMDelegationTokenService(configuration)
        client = jvm.org.apache.hadoop.yarn.client.api.YarnClient.createYarnClient()
        client.init(configuration)
        client.start()
        given = client.getRMDelegationToken(jvm.org.apache.hadoop.io.Text(sys.argv[3]))
        token = jvm.org.apache.hadoop.yarn.util.ConverterUtils.convertFromYarn(given, service)
        credentials.addToken(service, token)
        credentials.writeTokenStorageFile(path, configuration)
        answer = {"expires_ms": 0}
    else:
        credentials = jvm.org.apache.hadoop.security.Credentials.readTokenStorageFile(path, configuration)
        token = credentials.getAllTokens().iterator().next()
        answer = {"expires_ms": 0}
        if command == "renew":
            answer["expires_ms"] = token.renew(configuration)
        else:
            token.cancel(configuration)
    answer["max_ms"] = token.decodeIdentifier().getMaxDate()
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
