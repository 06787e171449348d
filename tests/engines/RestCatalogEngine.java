import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Iceberg's REST catalog on this machine alone, and Java's client of it as a judge: one request per line of input, one
 * answer per line of output, both JSON, as in IcebergEngine.java. {"op": "serve", "folder": "/…"} starts it over a
 * database and a warehouse in that folder and answers with its address.
 */
public final class RestCatalogEngine {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static RESTCatalog catalog;

    private RestCatalogEngine() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        // What libraries print is no answer.
        System.setOut(System.err);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("answer", answer(JSON.readTree(line)));
            } catch (Throwable thrown) {
                StringWriter trace = new StringWriter();
                thrown.printStackTrace(new PrintWriter(trace));
                answer.put("error", trace.toString());
            }
            out.println(JSON.writeValueAsString(answer));
            out.flush();
        }
        // The server's threads would go on.
        System.exit(0);
    }

    private static Object answer(JsonNode request) throws Exception {
        switch (request.get("op").asText()) {
            case "serve":
                return serve(request.get("folder").asText());
            case "read":
                return read(table(request));
            case "append":
                return append(table(request), request.get("path").asText());
            default:
                throw new IllegalArgumentException(request.toString());
        }
    }

    private static Table table(JsonNode request) {
        return catalog.loadTable(TableIdentifier.parse(request.get("table").asText()));
    }

    private static String serve(String folder) throws Exception {
        JdbcCatalog backend = new JdbcCatalog();
        backend.setConf(new Configuration());
        backend.initialize("backend", Map.of(
                CatalogProperties.URI, "jdbc:sqlite:" + folder + "/rest.db",
                CatalogProperties.WAREHOUSE_LOCATION, "file://" + folder + "/rest",
                // SQLite locks its file; one connection is as many as it serves.
                CatalogProperties.CLIENT_POOL_SIZE, "1"));
        Server server = new Server();
        ServerConnector connector = new ServerConnector(server);
        connector.setHost("127.0.0.1");
        connector.setPort(0);
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        context.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(backend))), "/*");
        server.setHandler(context);
        server.start();
        String address = "http://127.0.0.1:" + connector.getLocalPort();
        catalog = new RESTCatalog();
        catalog.setConf(new Configuration());
        catalog.initialize("lake", Map.of(CatalogProperties.URI, address));
        return address;
    }

    /** The live files of a table, its snapshots, and the metadata file that the catalog says is current. */
    private static Object read(Table table) throws Exception {
        List<Map<String, Object>> files = new ArrayList<>();
        try (CloseableIterable<FileScanTask> tasks = table.newScan().planFiles()) {
            for (FileScanTask task : tasks) {
                DataFile file = task.file();
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("file_path", file.location());
                row.put("record_count", file.recordCount());
                row.put("sequence_number", file.dataSequenceNumber());
                files.add(row);
            }
        }
        List<Map<String, Object>> snapshots = new ArrayList<>();
        for (Snapshot snapshot : table.snapshots()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("snapshot_id", snapshot.snapshotId());
            row.put("parent_id", snapshot.parentId());
            row.put("operation", snapshot.operation());
            row.put("summary", snapshot.summary());
            snapshots.add(row);
        }
        return Map.of("files", files, "snapshots", snapshots);
    }

    private static Object append(Table table, String path) {
        DataFile file = DataFiles.builder(table.spec())
                .withPath(path)
                .withFormat("parquet")
                .withFileSizeInBytes(1)
                .withRecordCount(1)
                .build();
        table.newFastAppend().appendFile(file).commit();
        return table.currentSnapshot().snapshotId();
    }
}
