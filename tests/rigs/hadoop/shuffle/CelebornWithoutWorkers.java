import org.apache.celeborn.common.CelebornConf;
import org.apache.celeborn.common.identity.UserIdentifier;
import org.apache.celeborn.common.protocol.PbCheckWorkersAvailable;
import org.apache.celeborn.common.protocol.PbCheckWorkersAvailableResponse;
import org.apache.celeborn.common.protocol.RpcNameConstants;
import org.apache.celeborn.common.protocol.TransportModuleConstants;
import org.apache.celeborn.common.protocol.message.ControlMessages;
import org.apache.celeborn.common.protocol.message.StatusCode;
import org.apache.celeborn.common.rpc.RpcCallContext;
import org.apache.celeborn.common.rpc.RpcEndpoint;
import org.apache.celeborn.common.rpc.RpcEnv;
import scala.Option;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * A master of Celeborn that has no workers, made of the RPC classes of the client's own jar: it says "port N" and then, a
 * line each, what applications tell it.
 */
public class CelebornWithoutWorkers implements RpcEndpoint {
  private final RpcEnv environment;

  CelebornWithoutWorkers(RpcEnv environment) {
    this.environment = environment;
  }

  public static void main(String[] arguments) throws Exception {
    RpcEnv environment = RpcEnv.create(
        RpcNameConstants.MASTER_SYS,
        TransportModuleConstants.RPC_SERVICE_MODULE,
        "127.0.0.1",
        0,
        new CelebornConf(),
        Option.empty());
    environment.setupEndpoint(RpcNameConstants.MASTER_EP, new CelebornWithoutWorkers(environment));
    say("port " + environment.address().port());
    environment.awaitTermination();
  }

  @Override
  public RpcEnv rpcEnv() {
    return environment;
  }

  @Override
  public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
    return new AbstractPartialFunction<>() {
      @Override
      public boolean isDefinedAt(Object message) {
        return true;
      }

      @Override
      public BoxedUnit apply(Object message) {
        Object answer = answer(message);
        if (answer != null) {
          context.reply(answer);
        } else {
          context.sendFailure(new UnsupportedOperationException(message.getClass().getName()));
        }
        return BoxedUnit.UNIT;
      }
    };
  }

  private static Object answer(Object message) {
    if (message instanceof ControlMessages.HeartbeatFromApplication) {
      say("heartbeat " + ((ControlMessages.HeartbeatFromApplication) message).appId());
      java.util.List<org.apache.celeborn.common.meta.WorkerInfo> none = java.util.Collections.emptyList();
      return new ControlMessages.HeartbeatFromApplicationResponse(StatusCode.SUCCESS, none, none, none);
    }
    if (message instanceof ControlMessages.CheckQuota) {
      UserIdentifier who = ((ControlMessages.CheckQuota) message).userIdentifier();
      say("quota " + who.tenantId() + " " + who.name());
      return new ControlMessages.CheckQuotaResponse(true, "");
    }
    if (message instanceof PbCheckWorkersAvailable) {
      say("workers");
      return PbCheckWorkersAvailableResponse.newBuilder().setAvailable(false).build();
    }
    if (message instanceof ControlMessages.ApplicationLost) {
      say("lost " + ((ControlMessages.ApplicationLost) message).appId());
      return new ControlMessages.ApplicationLostResponse(StatusCode.SUCCESS);
    }
    say("other " + message.getClass().getName());
    return null;
  }

  private static synchronized void say(String text) {
    System.out.println(text);
    System.out.flush();
  }
}
