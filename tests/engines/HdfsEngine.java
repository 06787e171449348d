import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/**
 * HDFS with one name node and one data node, for as long as there is input. A request per line of input, its answer per
 * line of output, both JSON, as in IcebergEngine.java. {"op": "serve", "folder": "/…", "copies": {"/…": "/…"}} starts it
 * over a folder, with copies of local folders; the answer is where WebHDFS is: "host:port".
 */
public final class HdfsEngine {
    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        MiniDFSCluster cluster = null;
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode request = json.readTree(line);
            Configuration configuration = new Configuration();
            configuration.setBoolean("dfs.webhdfs.enabled", true);
            configuration.setBoolean("dfs.permissions.enabled", false);
            // A client asks again whether what it wrote is complete: not after the usual 400 ms.
            configuration.setInt("dfs.client.block.write.locateFollowingBlock.initial.delay.ms", 10);
            configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, request.get("folder").asText());
            cluster = new MiniDFSCluster.Builder(configuration).numDataNodes(1).build();
            cluster.waitActive();
            for (Map.Entry<String, JsonNode> copy : request.get("copies").properties()) {
                Path to = new Path(copy.getValue().asText());
                cluster.getFileSystem().mkdirs(to.getParent());
                cluster.getFileSystem().copyFromLocalFile(new Path(copy.getKey()), to);
            }
            String address = cluster.getNameNode().getHttpAddress().getHostName() + ":"
                    + cluster.getNameNode().getHttpAddress().getPort();
            System.out.println(json.writeValueAsString(Map.of("answer", address)));
        }
        if (cluster != null) {
            cluster.shutdown(true);
        }
        System.exit(0);
    }
}
