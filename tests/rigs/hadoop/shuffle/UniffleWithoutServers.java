import io.grpc.Server;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import org.apache.uniffle.proto.CoordinatorServerGrpc;
import org.apache.uniffle.proto.RssProtos;

/**
 * A coordinator of Uniffle that has no servers, made of the gRPC classes of the client's own jar: it says "port N" and
 * then, a line each, what applications ask.  It denies access as the AccessClusterLoadChecker does; started with "allows"
 * it does not, and has nothing to assign.
 */
public class UniffleWithoutServers extends CoordinatorServerGrpc.CoordinatorServerImplBase {
  private final boolean allows;

  UniffleWithoutServers(boolean allows) {
    this.allows = allows;
  }

  public static void main(String[] arguments) throws Exception {
    boolean allows = arguments.length > 0 && arguments[0].equals("allows");
    Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0))
        .addService(new UniffleWithoutServers(allows))
        .build()
        .start();
    say("port " + server.getPort());
    server.awaitTermination();
  }

  @Override
  public void accessCluster(
      RssProtos.AccessClusterRequest request, StreamObserver<RssProtos.AccessClusterResponse> answer) {
    say("access " + request.getUser() + " " + request.getAccessId());
    RssProtos.StatusCode status = allows ? RssProtos.StatusCode.SUCCESS : RssProtos.StatusCode.ACCESS_DENIED;
    send(answer, RssProtos.AccessClusterResponse.newBuilder().setStatus(status).setRetMsg("no servers").build());
  }

  @Override
  public void fetchClientConf(
      org.apache.uniffle.shaded.com.google.protobuf.Empty request, StreamObserver<RssProtos.FetchClientConfResponse> answer) {
    say("configuration");
    send(answer, RssProtos.FetchClientConfResponse.newBuilder().setStatus(RssProtos.StatusCode.SUCCESS).build());
  }

  @Override
  public void getShuffleAssignments(
      RssProtos.GetShuffleServerRequest request, StreamObserver<RssProtos.GetShuffleAssignmentsResponse> answer) {
    say("assignment " + request.getApplicationId());
    send(answer, RssProtos.GetShuffleAssignmentsResponse.newBuilder()
        .setStatus(RssProtos.StatusCode.INTERNAL_ERROR)
        .setRetMsg("no servers")
        .build());
  }

  @Override
  public void registerApplicationInfo(
      RssProtos.ApplicationInfoRequest request, StreamObserver<RssProtos.ApplicationInfoResponse> answer) {
    say("application " + request.getUser() + " " + request.getAppId());
    send(answer, RssProtos.ApplicationInfoResponse.newBuilder().setStatus(RssProtos.StatusCode.SUCCESS).build());
  }

  private static <T> void send(StreamObserver<T> answer, T message) {
    answer.onNext(message);
    answer.onCompleted();
  }

  private static synchronized void say(String text) {
    System.out.println(text);
    System.out.flush();
  }
}
