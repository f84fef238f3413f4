import static org.codelibs.opensearch.runner.OpenSearchRunner.newConfigs;

import org.codelibs.opensearch.runner.OpenSearchRunner;

/** A cluster of one node: the folder of its data, its ports for HTTP and for itself. */
public class Main {
    public static void main(String[] arguments) throws Exception {
        try {
            new OpenSearchRunner().onBuild((number, settings) -> {
                settings.put("discovery.type", "single-node");
                settings.putList("discovery.seed_hosts");
                settings.put("http.port", arguments[1]);
                settings.put("transport.port", arguments[2]);
                settings.put("cluster.routing.allocation.disk.threshold_enabled", false);
            }).build(newConfigs().clusterName("tcpwhy").numOfNode(1).basePath(arguments[0]).useLogger());
            Thread.sleep(Long.MAX_VALUE);
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1);
        }
    }
}
