import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableOperations;
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
    /** The append that {"op": "begin"} began, and what it waits for. */
    private static CompletableFuture<Integer> begun;

    private static CountDownLatch released;

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
        return switch (request.get("op").asText()) {
            case "serve" -> serve(request.get("folder").asText());
            case "read" -> read(table(request));
            case "append" -> append(table(request), request.get("path").asText(), () -> {});
            case "begin" -> begin(table(request), request.get("path").asText());
            case "finish" -> {
                released.countDown();
                yield begun.get();
            }
            default -> throw new IllegalArgumentException(request.toString());
        };
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

    /** Appends a file; {@code before} runs ahead of the first attempt to commit. Answers how many there were. */
    private static int append(Table table, String path, Runnable before) {
        TableOperations operations = ((HasTableOperations) table).operations();
        AtomicInteger attempts = new AtomicInteger();
        InvocationHandler handler = (self, method, arguments) -> {
            if (method.getName().equals("commit") && attempts.getAndIncrement() == 0) {
                before.run();
            }
            try {
                return method.invoke(operations, arguments);
            } catch (InvocationTargetException thrown) {
                throw thrown.getCause();
            }
        };
        TableOperations counted = (TableOperations) Proxy.newProxyInstance(
                RestCatalogEngine.class.getClassLoader(), new Class<?>[] {TableOperations.class}, handler);
        DataFile file = DataFiles.builder(table.spec())
                .withPath(path)
                .withFormat("parquet")
                .withFileSizeInBytes(1)
                .withRecordCount(1)
                .build();
        new BaseTable(counted, table.name()).newFastAppend().appendFile(file).commit();
        return attempts.get();
    }

    /** Begins to append: answers where all is written but the commit, which waits for {"op": "finish"}. */
    private static Object begin(Table table, String path) throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        released = new CountDownLatch(1);
        begun = CompletableFuture.supplyAsync(() -> append(table, path, () -> {
            written.countDown();
            await(released);
        }));
        // Where it fails before that, so does this.
        CompletableFuture.anyOf(begun, CompletableFuture.runAsync(() -> await(written))).get();
        return "begun";
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }
}
