// Hadoop's own ShuffleHandler without a NodeManager around it: the peer of bench/shuffle.py.
//
//     java -cp 'LIB/*' bench/ShuffleHost.java PORT USER APPLICATION_ID SECRET_HEX LOCAL_DIR
//
// Prints the port it listens on and serves until its standard input ends.

import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.LocalDirAllocator;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

public class ShuffleHost {
  public static void main(String[] args) throws Exception {
    Configuration conf = new Configuration();
    conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, Integer.parseInt(args[0]));
    conf.set("yarn.nodemanager.local-dirs", args[4]);
    for (String pair : System.getProperty("set", "").split(",")) {
      if (!pair.isEmpty()) conf.set(pair.split("=")[0], pair.split("=")[1]);
    }
    ApplicationId application = ApplicationId.fromString(args[2]);
    byte[] secret = HexFormat.of().parseHex(args[3]);
    ShuffleHandler handler = new ShuffleHandler();
    handler.setAuxiliaryLocalPathHandler(new LocalDirs(conf));
    handler.init(conf);
    handler.start();
    Token<JobTokenIdentifier> token =
        new Token<>(new byte[0], secret, new Text("mapreduce.job"), new Text(""));
    ByteBuffer data = ShuffleHandler.serializeServiceData(token);
    handler.initializeApplication(new ApplicationInitializationContext(args[1], application, data));
    System.out.println(ShuffleHandler.deserializeMetaData(handler.getMetaData()));
    System.out.flush();
    while (System.in.read() >= 0) { }
    handler.stop();
    System.exit(0);
  }

  record LocalDirs(Configuration conf) implements AuxiliaryLocalPathHandler {
    private LocalDirAllocator allocator() {
      return new LocalDirAllocator("yarn.nodemanager.local-dirs");
    }

    public Path getLocalPathForRead(String path) throws java.io.IOException {
      return allocator().getLocalPathToRead(path, conf);
    }

    public Path getLocalPathForWrite(String path) throws java.io.IOException {
      return allocator().getLocalPathForWrite(path, conf);
    }

    public Path getLocalPathForWrite(String path, long size) throws java.io.IOException {
      return allocator().getLocalPathForWrite(path, size, conf);
    }

    public Iterable<Path> getAllLocalPathsForRead(String path) throws java.io.IOException {
      return allocator().getAllLocalPathsToRead(path, conf);
    }
  }
}
