import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.UpdatedContainer;
import org.apache.hadoop.yarn.client.api.AMRMClient;
import org.apache.hadoop.yarn.client.api.AMRMClient.ContainerRequest;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** An ApplicationMaster whose one container, of a rack, grows and shrinks while it runs: GrowsAContainer RACK REPORT. */
public class GrowsAContainer {
  private static final int PAUSE_MS = 200;

  public static void main(String[] arguments) throws Exception {
    YarnConfiguration conf = new YarnConfiguration();
    AMRMClient<ContainerRequest> master = AMRMClient.createAMRMClient();
    NMClient nodes = NMClient.createNMClient();
    master.init(conf);
    master.start();
    nodes.init(conf);
    nodes.start();
    master.registerApplicationMaster("localhost", 0, "");
    Resource small = Resource.newInstance(512, 1), large = Resource.newInstance(1024, 1);
    String[] racks = {arguments[0]};
    master.addContainerRequest(new ContainerRequest(small, null, racks, Priority.newInstance(1), false));
    Container container = null;
    while (container == null) {
      AllocateResponse answer = allocate(master);
      container = answer.getAllocatedContainers().stream().findFirst().orElse(null);
    }
    List<String> command = List.of("exec sleep 600");
    nodes.startContainer(container, ContainerLaunchContext.newInstance(Map.of(), Map.of(), command, null, null, null));
    while (status(nodes, container).getState() != ContainerState.RUNNING) {
      allocate(master);
    }
    container = resized(master, nodes, container, ContainerUpdateType.INCREASE_RESOURCE, large);
    container = resized(master, nodes, container, ContainerUpdateType.DECREASE_RESOURCE, small);
    Files.writeString(Path.of(arguments[1]), container.getId() + " " + container.getNodeId());
    master.unregisterApplicationMaster(FinalApplicationStatus.SUCCEEDED, "", "");
  }

  /** The container once its node says that it has the size.  A larger one is the master's to bring to the node. */
  private static Container resized(AMRMClient<ContainerRequest> master, NMClient nodes, Container container,
      ContainerUpdateType type, Resource size) throws Exception {
    master.requestContainerUpdate(container, UpdateContainerRequest.newInstance(
        container.getVersion(), container.getId(), type, size, null));
    List<UpdatedContainer> updated = List.of();
    while (updated.isEmpty()) {
      updated = allocate(master).getUpdatedContainers();
    }
    Container now = updated.get(0).getContainer();
    if (type == ContainerUpdateType.INCREASE_RESOURCE) {
      nodes.updateContainerResource(now);
    }
    while (status(nodes, now).getCapability().getMemorySize() != size.getMemorySize()) {
      allocate(master);
    }
    return now;
  }

  private static AllocateResponse allocate(AMRMClient<ContainerRequest> master) throws Exception {
    Thread.sleep(PAUSE_MS);
    return master.allocate(0.5f);
  }

  private static ContainerStatus status(NMClient nodes, Container container) throws Exception {
    return nodes.getContainerStatus(container.getId(), container.getNodeId());
  }
}
