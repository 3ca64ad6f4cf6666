import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.nio.ByteBuffer;
import java.util.HexFormat;

import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.records.MasterKey;
import org.apache.hadoop.yarn.server.nodemanager.security.NMContainerTokenSecretManager;
import org.apache.hadoop.yarn.util.Records;

/** What a NodeManager makes of a container token: ReadsToken IDENTIFIER KEY_ID KEY, in hexadecimal digits. */
public class ReadsToken {
  public static void main(String[] arguments) throws Exception {
    byte[] identifier = HexFormat.of().parseHex(arguments[0]);
    ContainerTokenIdentifier read = new ContainerTokenIdentifier();
    read.readFields(new DataInputStream(new ByteArrayInputStream(identifier)));
    MasterKey key = Records.newRecord(MasterKey.class);
    key.setKeyId(Integer.parseInt(arguments[1]));
    key.setBytes(ByteBuffer.wrap(HexFormat.of().parseHex(arguments[2])));
    NMContainerTokenSecretManager secrets = new NMContainerTokenSecretManager(new YarnConfiguration());
    secrets.setMasterKey(key);
    String password = HexFormat.of().formatHex(secrets.retrievePassword(read));
    System.out.println(password + " " + read.getContainerID() + " " + read.getApplicationSubmitter());
  }
}
