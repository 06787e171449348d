import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AddedRowsScanTask;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.ChangelogScanTask;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ContentScanTask;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.DeleteFiles;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Files;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.IncrementalChangelogScan;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.MetadataTableType;
import org.apache.iceberg.MetadataTableUtils;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.PartitionStatistics;
import org.apache.iceberg.PartitionStatisticsScan;
import org.apache.iceberg.PartitionStatsHandler;
import org.apache.iceberg.Partitioning;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotParser;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.UpdatePartitionSpec;
import org.apache.iceberg.UpdatePartitionStatistics;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.IcebergGenerics;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.TableMigrationUtil;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.Literal;
import org.apache.iceberg.expressions.Term;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.LocationProvider;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.mapping.NameMapping;
import org.apache.iceberg.mapping.NameMappingParser;
import org.apache.iceberg.rest.RESTCatalog;
import org.apache.iceberg.rest.responses.PlanTableScanResponseParser;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.util.ContentFileUtil;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * Iceberg's Java engine as a judge of tables: one request per line of input, one answer per line of output, both JSON.
 *
 * <p>A request names an operation, and a table's metadata file with the prefixes that it may have been moved from, or,
 * to commit, its location: {"op": "read", "metadata": "/…", "relocate": {"/was": "/is"}}. The answer is {"answer": …},
 * or {"error": …} with whatever the engine threw. Of values, times and decimals are texts and bytes are hex.
 */
public final class IcebergEngine {
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
    private static final List<MetadataTableType> METADATA_TABLES = List.of(
            MetadataTableType.ALL_ENTRIES,
            MetadataTableType.ALL_MANIFESTS,
            MetadataTableType.ENTRIES,
            MetadataTableType.FILES,
            MetadataTableType.MANIFESTS,
            MetadataTableType.PARTITIONS,
            MetadataTableType.SNAPSHOTS,
            MetadataTableType.HISTORY,
            MetadataTableType.REFS);

    private IcebergEngine() {}

    public static void main(String[] arguments) throws Exception {
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
        System.exit(0);
    }

    private static Map<String, Object> answer(JsonNode request) {
        try {
            return Map.of("answer", run(request.get("op").asText(), request));
        } catch (Throwable thrown) {
            StringWriter trace = new StringWriter();
            thrown.printStackTrace(new PrintWriter(trace));
            return Map.of("error", trace.toString());
        }
    }

    private static Object run(String operation, JsonNode request) throws Exception {
        return switch (operation) {
            case "read" -> read(request);
            case "expire" -> expire(request);
            case "add_partition_stats" -> addPartitionStats(request);
            case "answer" -> answered(request);
            case "remote" -> remote(request);
            case "filtered" -> filtered(request);
            case "as_of" -> asOf(request);
            case "planned" -> planned(request);
            case "changelog" -> orError(() -> changelog(request));
            case "expressions" -> expressions(request);
            case "content_entries" -> contentEntries(request);
            case "manage" -> managed(table(request), request.get("steps"));
            case "partition_stats" -> partitionStats(table(request), request.path("snapshot"));
            case "rows" -> rows(table(request), request.get("column").asText());
            default -> committed(operation, table(request), request);
        };
    }

    /** The snapshot that a commit of data makes. */
    private static JsonNode committed(String operation, Table table, JsonNode request) throws Exception {
        switch (operation) {
            case "append" -> append(table, table.newAppend(), request);
            case "fast_append" -> append(table, table.newFastAppend(), request);
            case "overwrite" -> overwrite(table, request);
            case "row_delta" -> rowDelta(table, request);
            case "replace" -> replace(table, request);
            case "delete" -> {
                DeleteFiles delete = table.newDelete();
                request.get("files").forEach(path -> delete.deleteFile(path.asText()));
                delete.commit();
            }
            case "add_files" -> addFiles(table, request);
            case "rewrite_manifests" -> table.rewriteManifests().clusterBy(file -> file.partition().toString()).commit();
            default -> throw new IllegalArgumentException(operation);
        }
        return JSON.readTree(SnapshotParser.toJson(table.currentSnapshot()));
    }

    /** A table that can be committed to. */
    private static Table table(JsonNode request) {
        return new HadoopTables(new Configuration()).load(request.get("table").asText());
    }

    /** A table that may have been moved, to be read. */
    private static BaseTable moved(JsonNode request) {
        return new BaseTable(
                new StaticTableOperations(request.get("metadata").asText(), new Moved(prefixes(request))), "table");
    }

    /** Does something with a member of a request, where it has that. */
    private static void given(JsonNode request, String name, Consumer<JsonNode> use) {
        if (request.hasNonNull(name)) {
            use.accept(request.get(name));
        }
    }

    // Reading.

    /** A table's files, wherever they have been moved to, with the lengths that its lists record. */
    private record Moved(Map<String, String> prefixes) implements FileIO {
        private String now(String path) {
            for (Map.Entry<String, String> prefix : prefixes.entrySet()) {
                if (path.startsWith(prefix.getKey() + "/")) {
                    return prefix.getValue() + path.substring(prefix.getKey().length());
                }
            }
            return path;
        }

        @Override
        public InputFile newInputFile(String path) {
            return Files.localInput(now(path));
        }

        @Override
        public InputFile newInputFile(String path, long length) {
            InputFile file = newInputFile(path);
            if (file.getLength() != length) {
                throw new IllegalStateException(path + " has " + file.getLength() + " bytes, not " + length);
            }
            return file;
        }

        @Override
        public OutputFile newOutputFile(String path) {
            return Files.localOutput(now(path));
        }

        @Override
        public void deleteFile(String path) {
            throw new UnsupportedOperationException(path);
        }
    }

    /** A table whose commits stay in memory. */
    private static final class InMemory implements TableOperations {
        private final FileIO files;
        private TableMetadata current;

        private InMemory(TableMetadata current, FileIO files) {
            this.current = current;
            this.files = files;
        }

        @Override
        public TableMetadata current() {
            return current;
        }

        @Override
        public TableMetadata refresh() {
            return current;
        }

        @Override
        public void commit(TableMetadata base, TableMetadata metadata) {
            current = metadata;
        }

        @Override
        public FileIO io() {
            return files;
        }

        @Override
        public String metadataFileLocation(String name) {
            return current.location() + "/metadata/" + name;
        }

        @Override
        public LocationProvider locationProvider() {
            throw new UnsupportedOperationException();
        }
    }

    /** The snapshots and refs that an expiry removes, and the files that it would delete; none is. */
    private static Map<String, Object> expire(JsonNode request) throws Exception {
        FileIO files = new Moved(prefixes(request));
        TableMetadata before = TableMetadataParser.read(files, request.get("metadata").asText());
        InMemory operations = new InMemory(before, files);
        List<String> deleted = Collections.synchronizedList(new ArrayList<>());
        ExpireSnapshots expire = new BaseTable(operations, "table").expireSnapshots().deleteWith(deleted::add);
        given(request, "older_than", time -> expire.expireOlderThan(time.asLong()));
        given(request, "retain_last", number -> expire.retainLast(number.asInt()));
        // By what is reachable, as where history has branches: elsewhere it takes a short cut.
        var incremental = expire.getClass().getDeclaredMethod("withIncrementalCleanup", boolean.class);
        incremental.setAccessible(true);
        incremental.invoke(expire, false);
        expire.commit();
        List<Long> kept = operations.current().snapshots().stream().map(Snapshot::snapshotId).toList();
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("files", deleted.stream().sorted().toList());
        found.put("snapshots", before.snapshots().stream().map(Snapshot::snapshotId)
                .filter(id -> !kept.contains(id)).toList());
        found.put("refs", before.refs().keySet().stream()
                .filter(name -> !operations.current().refs().containsKey(name)).toList());
        return found;
    }

    /** The metadata with a file of partition statistics of the current snapshot in some format, and its rows. */
    private static Map<String, Object> addPartitionStats(JsonNode request) throws Exception {
        FileIO files = new Moved(prefixes(request));
        InMemory operations = new InMemory(TableMetadataParser.read(files, request.get("metadata").asText()), files);
        Table table = new BaseTable(operations, "table");
        table.updateProperties().set("write.format.default", request.get("format").asText()).commit();
        manage(table, JSON.readTree("[\"compute_partition_stats\"]"));
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("rows", partitionStats(table, JSON.nullNode()));
        found.put("metadata", JSON.readTree(TableMetadataParser.toJson(operations.current())));
        return found;
    }

    private static Map<String, String> prefixes(JsonNode request) {
        Map<String, String> prefixes = new LinkedHashMap<>();
        request.get("relocate").fields().forEachRemaining(one -> prefixes.put(one.getKey(), one.getValue().asText()));
        return prefixes;
    }

    /** Everything that the metadata of a table says: itself, its metadata tables, a plan of every snapshot. */
    private static Map<String, Object> read(JsonNode request) throws Exception {
        BaseTable table = moved(request);
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("metadata", JSON.readTree(TableMetadataParser.toJson(table.operations().current())));
        for (MetadataTableType type : METADATA_TABLES) {
            found.put(type.name().toLowerCase(), orError(() -> rows(table, type)));
        }
        Map<String, Object> plans = new LinkedHashMap<>();
        for (Snapshot snapshot : table.snapshots()) {
            plans.put(String.valueOf(snapshot.snapshotId()), orError(() -> plan(table, snapshot.snapshotId())));
        }
        found.put("plans", plans);
        return found;
    }

    /** The values of one column in all rows, as texts. */
    private static List<Object> rows(Table table, String column) throws Exception {
        List<Object> found = new ArrayList<>();
        try (CloseableIterable<Record> rows = IcebergGenerics.read(table).select(column).build()) {
            rows.forEach(row -> found.add(String.valueOf(row.getField(column))));
        }
        return found;
    }

    /** Appends the files in a folder, with the values of its partition, as the procedure `add_files` for Spark does. */
    private static void addFiles(Table table, JsonNode request) {
        if (!table.properties().containsKey(TableProperties.DEFAULT_NAME_MAPPING)) {
            String mapping = NameMappingParser.toJson(MappingUtil.create(table.schema()));
            table.updateProperties().set(TableProperties.DEFAULT_NAME_MAPPING, mapping).commit();
        }
        NameMapping mapping = NameMappingParser.fromJson(table.properties().get(TableProperties.DEFAULT_NAME_MAPPING));
        Map<String, String> partition = new LinkedHashMap<>();
        request.get("partition").fields().forEachRemaining(one -> partition.put(one.getKey(), one.getValue().asText()));
        AppendFiles append = table.newAppend();
        TableMigrationUtil.listPartition(
                        partition,
                        request.get("folder").asText(),
                        request.get("format").asText(),
                        table.spec(),
                        new Configuration(),
                        MetricsConfig.forTable(table),
                        mapping)
                .forEach(append::appendFile);
        append.commit();
    }

    /** The rows of a snapshot's partition statistics, of the current one where none is named. */
    private static List<Object> partitionStats(Table table, JsonNode snapshot) throws Exception {
        PartitionStatisticsScan scan = table.newPartitionStatisticsScan();
        if (snapshot.isNumber()) {
            scan.useSnapshot(snapshot.asLong());
        }
        Types.StructType schema = PartitionStatistics.schema(
                        Partitioning.partitionType(table), TableUtil.formatVersion(table))
                .asStruct();
        List<Object> found = new ArrayList<>();
        try (CloseableIterable<PartitionStatistics> rows = scan.scan()) {
            rows.forEach(row -> found.add(value(schema, row)));
        }
        return found;
    }

    private static List<Object> rows(Table table, MetadataTableType type) throws Exception {
        Table metadata = MetadataTableUtils.createMetadataTableInstance(table, type);
        List<Object> found = new ArrayList<>();
        try (CloseableIterable<FileScanTask> tasks = metadata.newScan().planFiles()) {
            for (FileScanTask task : tasks) {
                try (CloseableIterable<StructLike> rows = task.asDataTask().rows()) {
                    rows.forEach(row -> found.add(value(metadata.schema().asStruct(), row)));
                }
            }
        }
        return found;
    }

    private static Map<String, Object> plan(Table table, long snapshot) throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        try (CloseableIterable<FileScanTask> tasks = table.newScan().useSnapshot(snapshot).planFiles()) {
            for (FileScanTask task : tasks) {
                List<String> deletes = task.deletes().stream()
                        .map(file -> file.location() + "#" + file.contentOffset()).sorted().toList();
                found.put(task.file().location(), deletes);
            }
        }
        return found;
    }

    /** What is left of a metadata table: the files that some task reads, and the rows of these that match. */
    private static Map<String, Object> filtered(JsonNode request) throws Exception {
        Table table = MetadataTableUtils.createMetadataTableInstance(
                moved(request), MetadataTableType.valueOf(request.get("type").asText()));
        Types.StructType struct = table.schema().asStruct();
        Expression where = ExpressionParser.fromJson(request.get("where").toString(), table.schema());
        Evaluator matches = new Evaluator(struct, where, true);
        TableScan scan = table.newScan().filter(where);
        if (request.path("ignore_residuals").asBoolean()) {
            scan = scan.ignoreResiduals();
        }
        List<Object> files = new ArrayList<>();
        List<Object> found = new ArrayList<>();
        try (CloseableIterable<FileScanTask> tasks = scan.planFiles()) {
            for (FileScanTask task : tasks) {
                files.add(task.file().location());
                try (CloseableIterable<StructLike> rows = task.asDataTask().rows()) {
                    rows.forEach(row -> {
                        if (matches.eval(row)) {
                            found.add(value(struct, row));
                        }
                    });
                }
            }
        }
        return Map.of("files", files, "rows", found);
    }

    /** The tasks of a changelog after a snapshot, up to another. */
    private static List<Object> changelog(JsonNode request) throws Exception {
        IncrementalChangelogScan scan =
                moved(request).newIncrementalChangelogScan().toSnapshot(request.get("to").asLong());
        if (request.hasNonNull("after")) {
            scan = scan.fromSnapshotExclusive(request.get("after").asLong());
        }
        List<Object> found = new ArrayList<>();
        try (CloseableIterable<ChangelogScanTask> tasks = scan.planFiles()) {
            for (ChangelogScanTask task : tasks) {
                String change = task instanceof AddedRowsScanTask ? "added" : "removed";
                String path = ((ContentScanTask<?>) task).file().location();
                found.add(List.of(change, task.changeOrdinal(), task.commitSnapshotId(), path));
            }
        }
        return found;
    }

    /** The snapshots that were current at some times, null where none was. */
    private static List<Object> asOf(JsonNode request) {
        Table table = moved(request);
        List<Object> found = new ArrayList<>();
        request.get("times").forEach(time -> found.add(SnapshotUtil.nullableSnapshotIdAsOfTime(table, time.asLong())));
        return found;
    }

    /** A plan of the current snapshot by Hadoop's files, whose manifests may be kept in the engine's cache. */
    private static Map<String, Object> planned(JsonNode request) throws Exception {
        HadoopFileIO files = new HadoopFileIO(new Configuration());
        files.initialize(Map.of("io.manifest.cache-enabled", request.get("cached").asText()));
        Table table = new BaseTable(new StaticTableOperations(request.get("metadata").asText(), files), "table");
        return plan(table, table.currentSnapshot().snapshotId());
    }

    /** What the engine reads of expressions in JSON, with a schema if there is one, written again without NOT. */
    private static List<Object> expressions(JsonNode request) {
        Schema schema = request.hasNonNull("schema") ? SchemaParser.fromJson(request.get("schema").toString()) : null;
        List<Object> found = new ArrayList<>();
        for (JsonNode json : request.get("expressions")) {
            found.add(orError(() -> {
                Expression read = ExpressionParser.fromJson(json.toString(), schema);
                return JSON.readTree(ExpressionParser.toJson(Expressions.rewriteNot(read)));
            }));
        }
        return found;
    }

    /** The tasks of a plan that a REST catalog would have answered, and those of this engine. */
    private static Map<String, Object> answered(JsonNode request) throws Exception {
        Table table = moved(request);
        List<FileScanTask> tasks =
                PlanTableScanResponseParser.fromJson(request.get("answer"), table.specs(), true).fileScanTasks();
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("answered", tasks.stream().map(IcebergEngine::task).toList());
        List<Map<String, Object>> own = new ArrayList<>();
        try (CloseableIterable<FileScanTask> planned =
                table.newScan().useSnapshot(request.get("snapshot").asLong()).planFiles()) {
            planned.forEach(task -> own.add(task(task)));
        }
        found.put("own", own);
        return found;
    }

    /**
     * A scan as the REST catalog at {@code uri} plans it for Java's client, and as Java itself does, with the kind of
     * table that the client has.
     */
    private static Map<String, Object> remote(JsonNode request) throws Exception {
        try (RESTCatalog catalog = new RESTCatalog()) {
            catalog.setConf(new Configuration());
            catalog.initialize("lake", Map.of(CatalogProperties.URI, request.get("uri").asText()));
            Table table = catalog.loadTable(TableIdentifier.parse(request.get("table").asText()));
            Map<String, Object> found = new LinkedHashMap<>();
            found.put("kind", table.getClass().getSimpleName());
            found.put("answered", planned(table, request));
            found.put("own", planned(moved(request), request));
            return found;
        }
    }

    private static List<Map<String, Object>> planned(Table table, JsonNode request) throws Exception {
        TableScan scan = table.newScan().caseSensitive(request.path("case_sensitive").asBoolean(true));
        if (request.hasNonNull("snapshot")) {
            scan = scan.useSnapshot(request.get("snapshot").asLong());
        }
        if (request.has("filter")) {
            scan = scan.filter(ExpressionParser.fromJson(request.get("filter").toString(), scan.schema()));
        }
        List<String> stats = new ArrayList<>();
        request.path("stats").forEach(name -> stats.add(name.asText()));
        if (!stats.isEmpty()) {
            scan = scan.includeColumnStats(stats);
        }
        List<Map<String, Object>> found = new ArrayList<>();
        try (CloseableIterable<FileScanTask> tasks = scan.planFiles()) {
            for (FileScanTask task : tasks) {
                Map<String, Object> row = task(task);
                // A client reads literals of residuals without the types of their columns.
                Expression residual = Expressions.rewriteNot(task.residual());
                row.put("residual", Binder.bind(scan.schema().asStruct(), residual, true).toString());
                if (!stats.isEmpty()) {
                    row.put("metrics", metrics(task.file()));
                }
                found.add(row);
            }
        }
        return found;
    }

    private static List<String> metrics(DataFile file) {
        return Stream.of(
                        file.columnSizes(), file.valueCounts(), file.nullValueCounts(), file.nanValueCounts(),
                        hex(file.lowerBounds()), hex(file.upperBounds()))
                .map(metric -> metric == null ? "none" : new TreeMap<>(metric).toString())
                .toList();
    }

    private static Map<Integer, String> hex(Map<Integer, ByteBuffer> bounds) {
        if (bounds == null) {
            return null;
        }
        Map<Integer, String> found = new TreeMap<>();
        bounds.forEach((id, bound) -> {
            byte[] bytes = new byte[bound.remaining()];
            bound.duplicate().get(bytes);
            found.put(id, HexFormat.of().formatHex(bytes));
        });
        return found;
    }

    private static Map<String, Object> task(FileScanTask task) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("file", file(task.spec().partitionType(), task.file()));
        found.put("deletes", task.deletes().stream()
                .map(delete -> file(task.spec().partitionType(), delete).toString()).sorted().toList());
        found.put("residual", task.residual().toString());
        return found;
    }

    private static Map<String, Object> file(Types.StructType partition, ContentFile<?> file) {
        Map<String, Object> found = new LinkedHashMap<>();
        found.put("content", file.content().toString());
        found.put("path", file.location());
        found.put("format", file.format().toString());
        found.put("spec", file.specId());
        found.put("partition", value(partition, file.partition()));
        found.put("records", file.recordCount());
        found.put("size", file.fileSizeInBytes());
        if (file.content() == FileContent.DATA) {
            found.put("offsets", file.splitOffsets());
            found.put("order", file.sortOrderId());
            found.put("first_row", file.firstRowId());
        }
        found.put("equality", file.equalityFieldIds());
        if (file instanceof DeleteFile delete) {
            found.put("offset", delete.contentOffset());
            found.put("length", delete.contentSizeInBytes());
        }
        return found;
    }

    private static Object value(Type type, Object value) {
        if (value == null) {
            return null;
        }
        return switch (type.typeId()) {
            case STRUCT -> struct(type.asStructType(), (StructLike) value);
            case LIST -> ((List<?>) value).stream().map(item -> value(type.asListType().elementType(), item)).toList();
            case MAP -> {
                Map<String, Object> object = new LinkedHashMap<>();
                ((Map<?, ?>) value).forEach((key, item) ->
                        object.put(key.toString(), value(type.asMapType().valueType(), item)));
                yield object;
            }
            case FLOAT, DOUBLE -> Double.isFinite(((Number) value).doubleValue()) ? value : value.toString();
            case DECIMAL -> ((BigDecimal) value).toPlainString();
            case DATE -> LocalDate.ofEpochDay((Integer) value).toString();
            case TIME -> LocalTime.ofNanoOfDay((Long) value * 1000).format(DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS"));
            case TIMESTAMP -> time((Long) value, 1_000_000, "SSSSSS", ((Types.TimestampType) type).shouldAdjustToUTC());
            case TIMESTAMP_NANO ->
                time((Long) value, 1_000_000_000, "SSSSSSSSS", ((Types.TimestampNanoType) type).shouldAdjustToUTC());
            case FIXED, BINARY -> hex(value);
            case STRING, UUID -> value.toString();
            default -> value;
        };
    }

    private static Map<String, Object> struct(Types.StructType type, StructLike row) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int i = 0; i < type.fields().size(); i++) {
            Types.NestedField field = type.fields().get(i);
            object.put(field.name(), value(field.type(), row.get(i, Object.class)));
        }
        return object;
    }

    // Classes of version 4 that are not public yet, in releases that have them.

    private static List<Object> contentEntries(JsonNode request) throws Exception {
        Schema schema = SchemaParser.fromJson(request.get("schema").toString());
        Map<Integer, PartitionSpec> specs = new LinkedHashMap<>();
        for (JsonNode json : request.get("specs")) {
            PartitionSpec spec = PartitionSpecParser.fromJson(schema, json.toString());
            specs.put(spec.specId(), spec);
        }
        String path = request.get("path").asText();
        FileIO io = new HadoopFileIO(new Configuration());
        ManifestFile manifest = (ManifestFile) Proxy.newProxyInstance(
                ManifestFile.class.getClassLoader(), new Class<?>[] {ManifestFile.class}, (proxy, method, arguments) ->
                        switch (method.getName()) {
                            case "path" -> path;
                            case "length" -> io.newInputFile(path).getLength();
                            case "content" -> ManifestContent.DATA;
                            case "formatVersion" -> 4;
                            case "snapshotId" -> request.get("snapshot_id").asLong();
                            case "sequenceNumber" -> request.get("sequence_number").asLong();
                            case "firstRowId" -> request.get("first_row_id").asLong();
                            default -> null;
                        });
        Class<?> readers = Class.forName("org.apache.iceberg.V4ManifestReader");
        Object builder = open(readers.getDeclaredMethod(
                        "builder", ManifestFile.class, FileIO.class, Schema.class, Map.class))
                .invoke(null, manifest, io, schema, specs);
        open(builder.getClass().getDeclaredMethod("includeAll")).invoke(builder);
        open(builder.getClass().getDeclaredMethod("tableLocation", String.class))
                .invoke(builder, request.get("location").asText());
        // With statistics of all columns.
        Object metrics = open(MetricsConfig.class.getDeclaredMethod("from", Map.class, Schema.class, SortOrder.class))
                .invoke(null, Map.of(), schema, SortOrder.unsorted());
        open(builder.getClass().getDeclaredMethod("metricsConfig", MetricsConfig.class)).invoke(builder, metrics);
        Object reader = open(builder.getClass().getDeclaredMethod("build")).invoke(builder);
        Schema read = (Schema) open(readers.getDeclaredMethod("readSchema")).invoke(reader);
        List<Object> rows = new ArrayList<>();
        for (Object row : (Iterable<?>) reader) {
            rows.add(struct(read.asStruct(), (StructLike) row));
        }
        return rows;
    }

    private static Method open(Method method) {
        method.setAccessible(true);
        return method;
    }

    private static String time(long units, long perSecond, String fraction, boolean zoned) {
        int nanos = (int) (Math.floorMod(units, perSecond) * (1_000_000_000 / perSecond));
        return LocalDateTime.ofEpochSecond(Math.floorDiv(units, perSecond), nanos, ZoneOffset.UTC)
                        .format(DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss." + fraction))
                + (zoned ? "+00:00" : "");
    }

    private static String hex(Object value) {
        if (value instanceof ByteBuffer buffer) {
            byte[] bytes = new byte[buffer.remaining()];
            buffer.duplicate().get(bytes);
            return HexFormat.of().formatHex(bytes);
        }
        return HexFormat.of().formatHex((byte[]) value);
    }

    // Committing.

    /** The metadata after steps. */
    private static JsonNode managed(Table table, JsonNode steps) throws IOException {
        for (JsonNode step : steps) {
            manage(table, step);
        }
        return JSON.readTree(TableMetadataParser.toJson(((HasTableOperations) table).operations().refresh()));
    }

    /** Changes of branches, tags, properties and versions, one commit each: [name, argument, …]. */
    private static void manage(Table table, JsonNode step) throws IOException {
        String name = step.path(1).asText();
        switch (step.get(0).asText()) {
            case "create_branch" -> table.manageSnapshots().createBranch(name, step.get(2).asLong()).commit();
            case "create_tag" -> table.manageSnapshots().createTag(name, step.get(2).asLong()).commit();
            case "replace_branch" -> table.manageSnapshots().replaceBranch(name, step.get(2).asLong()).commit();
            case "replace_tag" -> table.manageSnapshots().replaceTag(name, step.get(2).asLong()).commit();
            case "delete_branch" -> table.manageSnapshots().removeBranch(name).commit();
            case "delete_tag" -> table.manageSnapshots().removeTag(name).commit();
            case "fast_forward" -> table.manageSnapshots().fastForwardBranch(name, step.get(2).asText()).commit();
            case "keep" -> table.manageSnapshots().setMinSnapshotsToKeep(name, step.get(2).asInt()).commit();
            case "keep_ref" -> table.manageSnapshots().setMaxRefAgeMs(name, step.get(2).asLong()).commit();
            case "rollback" -> table.manageSnapshots().rollbackTo(step.get(1).asLong()).commit();
            case "set_current" -> table.manageSnapshots().setCurrentSnapshot(step.get(1).asLong()).commit();
            case "cherrypick" -> table.manageSnapshots().cherrypick(step.get(1).asLong()).commit();
            case "set" -> table.updateProperties().set(name, step.get(2).asText()).commit();
            case "remove" -> table.updateProperties().remove(name).commit();
            case "upgrade" -> {
                TableOperations operations = ((HasTableOperations) table).operations();
                TableMetadata base = operations.refresh();
                operations.commit(base, base.upgradeToFormatVersion(step.get(1).asInt()));
            }
            case "compute_partition_stats" -> table.updatePartitionStatistics()
                    .setPartitionStatistics(PartitionStatsHandler.computeAndWriteStatsFile(table))
                    .commit();
            case "remove_partition_stats" -> {
                UpdatePartitionStatistics update = table.updatePartitionStatistics();
                table.partitionStatisticsFiles().forEach(file -> update.removePartitionStatistics(file.snapshotId()));
                update.commit();
            }
            case "schema" -> updateSchema(table, step.get(1));
            case "spec" -> updateSpec(table, step.get(1));
            case "sort" -> table.replaceSortOrder().asc(name).commit();
            case "expire" -> table.expireSnapshots().expireOlderThan(step.get(1).asLong()).cleanExpiredFiles(false).commit();
            default -> throw new IllegalArgumentException(step.toString());
        }
    }

    /** One commit of changes of the schema, each {name: arguments} as lakebed takes them. */
    private static void updateSchema(Table table, JsonNode changes) {
        UpdateSchema update = table.updateSchema();
        if (changes.path("allow_incompatible_changes").asBoolean()) {
            update.allowIncompatibleChanges();
        }
        for (JsonNode change : changes.get("changes")) {
            Map.Entry<String, JsonNode> entry = change.fields().next();
            JsonNode given = entry.getValue();
            String first = given.path(0).asText();
            String second = given.path(1).asText();
            switch (entry.getKey()) {
                case "add_column" -> addColumn(update, given);
                case "delete_column" -> update.deleteColumn(given.asText());
                case "rename_column" -> update.renameColumn(first, second);
                case "update_column" -> update.updateColumn(first, type(given.get(1)).asPrimitiveType());
                case "update_column_doc" -> update.updateColumnDoc(first, given.get(1).isNull() ? null : second);
                case "update_column_default" -> update.updateColumnDefault(first, literal(given.get(1)));
                case "make_column_optional" -> update.makeColumnOptional(given.asText());
                case "require_column" -> update.requireColumn(given.asText());
                case "move_first" -> update.moveFirst(given.asText());
                case "move_before" -> update.moveBefore(first, second);
                case "move_after" -> update.moveAfter(first, second);
                case "set_identifier_fields" -> {
                    List<String> names = new ArrayList<>();
                    given.forEach(name -> names.add(name.asText()));
                    update.setIdentifierFields(names);
                }
                default -> throw new IllegalArgumentException(change.toString());
            }
        }
        update.commit();
    }

    private static void addColumn(UpdateSchema update, JsonNode given) {
        String parent = given.get("parent").isNull() ? null : given.get("parent").asText();
        String doc = given.get("doc").isNull() ? null : given.get("doc").asText();
        String name = given.get("name").asText();
        Type type = type(given.get("field_type"));
        if (given.get("required").asBoolean()) {
            update.addRequiredColumn(parent, name, type, doc, literal(given.get("default_value")));
        } else {
            update.addColumn(parent, name, type, doc, literal(given.get("default_value")));
        }
    }

    /** A type as schemas have it in JSON. */
    private static Type type(JsonNode json) {
        ObjectNode field = JSON.createObjectNode().put("id", 1_000_000).put("name", "a").put("required", false);
        field.set("type", json);
        ObjectNode schema = JSON.createObjectNode().put("type", "struct");
        schema.putArray("fields").add(field);
        return SchemaParser.fromJson(schema.toString()).columns().get(0).type();
    }

    /** A default, of which texts become times and decimals. */
    private static Literal<?> literal(JsonNode json) {
        if (json.isNull()) {
            return null;
        }
        if (json.isTextual()) {
            return Expressions.lit(json.asText());
        }
        return json.isBoolean() ? Expressions.lit(json.asBoolean()) : Expressions.lit(json.numberValue());
    }

    /** One commit of changes of the partition spec: {"remove": […], "rename": [[…, …]], "add": [[transform, column, name]]}. */
    private static void updateSpec(Table table, JsonNode changes) {
        UpdatePartitionSpec update = table.updateSpec();
        changes.path("remove").forEach(name -> update.removeField(name.asText()));
        changes.path("rename").forEach(pair -> update.renameField(pair.get(0).asText(), pair.get(1).asText()));
        for (JsonNode field : changes.path("add")) {
            Term term = term(field.get(0).asText(), field.get(1).asText());
            if (field.hasNonNull(2)) {
                update.addField(field.get(2).asText(), term);
            } else {
                update.addField(term);
            }
        }
        update.commit();
    }

    private static Term term(String transform, String column) {
        String[] parts = transform.split("\\W");
        return switch (parts[0]) {
            case "identity" -> Expressions.ref(column);
            case "bucket" -> Expressions.bucket(column, Integer.parseInt(parts[1]));
            case "truncate" -> Expressions.truncate(column, Integer.parseInt(parts[1]));
            case "year" -> Expressions.year(column);
            case "month" -> Expressions.month(column);
            case "day" -> Expressions.day(column);
            case "hour" -> Expressions.hour(column);
            default -> throw new IllegalArgumentException(transform);
        };
    }

    /** Data files that exist nowhere: {"path", "partition" as in a folder's name, "records", "size", "bounds" of "id"}. */
    private static List<DataFile> dataFiles(Table table, JsonNode request) {
        List<DataFile> built = new ArrayList<>();
        for (JsonNode file : request.path("files")) {
            DataFiles.Builder builder = DataFiles.builder(table.spec())
                    .withPath(file.get("path").asText())
                    .withFormat(FileFormat.PARQUET)
                    .withRecordCount(file.get("records").asLong())
                    .withFileSizeInBytes(file.get("size").asLong());
            if (table.spec().isPartitioned()) {
                builder.withPartitionPath(file.get("partition").asText());
            }
            given(file, "bounds", bounds -> builder.withMetrics(metrics(file)));
            built.add(builder.build());
        }
        return built;
    }

    /** The least and the greatest value of the first column, which has no nulls. */
    private static Metrics metrics(JsonNode file) {
        long records = file.get("records").asLong();
        List<ByteBuffer> bounds = new ArrayList<>();
        file.get("bounds").forEach(bound -> bounds.add(Conversions.toByteBuffer(Types.LongType.get(), bound.asLong())));
        return new Metrics(records, null, Map.of(1, records), Map.of(1, 0L), null,
                Map.of(1, bounds.get(0)), Map.of(1, bounds.get(1)));
    }

    /** Delete files that exist nowhere: of equality by "ids", vectors by "target" and "offset", else of positions. */
    private static List<DeleteFile> deleteFiles(Table table, JsonNode request) {
        List<DeleteFile> built = new ArrayList<>();
        for (JsonNode file : request.path("deletes")) {
            FileMetadata.Builder builder = FileMetadata.deleteFileBuilder(table.spec())
                    .withPath(file.get("path").asText())
                    .withFormat(file.hasNonNull("offset") ? FileFormat.PUFFIN : FileFormat.PARQUET)
                    .withRecordCount(file.get("records").asLong())
                    .withFileSizeInBytes(file.get("size").asLong());
            if (file.hasNonNull("ids")) {
                List<Integer> ids = new ArrayList<>();
                file.get("ids").forEach(id -> ids.add(id.asInt()));
                builder.ofEqualityDeletes(ids.stream().mapToInt(Integer::intValue).toArray());
            } else {
                builder.ofPositionDeletes();
            }
            if (table.spec().isPartitioned()) {
                builder.withPartitionPath(file.get("partition").asText());
            }
            given(file, "target", target -> builder.withReferencedDataFile(target.asText()));
            given(file, "offset", offset -> builder.withContentOffset(offset.asLong()).withContentSizeInBytes(10));
            built.add(builder.build());
        }
        return built;
    }

    /** The live files of a branch, by path, and of vectors by path and the data file that they are of. */
    private static Map<String, ContentFile<?>> live(Table table, JsonNode request) throws Exception {
        Map<String, ContentFile<?>> live = new LinkedHashMap<>();
        Snapshot head = SnapshotUtil.latestSnapshot(table, branch(request));
        try (CloseableIterable<FileScanTask> tasks = table.newScan().useSnapshot(head.snapshotId()).includeColumnStats().planFiles()) {
            for (FileScanTask task : tasks) {
                live.put(task.file().location(), task.file().copy());
                for (DeleteFile file : task.deletes()) {
                    live.put(ContentFileUtil.isDV(file) ? "dv of " + file.referencedDataFile() : file.location(), file.copy());
                }
            }
        }
        return live;
    }

    private static String branch(JsonNode request) {
        return request.hasNonNull("branch") ? request.get("branch").asText() : "main";
    }

    private static void append(Table table, AppendFiles append, JsonNode request) {
        dataFiles(table, request).forEach(append::appendFile);
        append.toBranch(branch(request)).commit();
    }

    private static void overwrite(Table table, JsonNode request) throws Exception {
        OverwriteFiles overwrite = table.newOverwrite().toBranch(branch(request));
        dataFiles(table, request).forEach(overwrite::addFile);
        Map<String, ContentFile<?>> live = live(table, request);
        request.path("removed").forEach(path -> overwrite.deleteFile((DataFile) live.get(path.asText())));
        given(request, "where", where -> overwrite.overwriteByRowFilter(
                ExpressionParser.fromJson(where.toString(), table.schema())));
        given(request, "since", snapshot -> overwrite.validateFromSnapshot(snapshot.asLong()));
        given(request, "isolation", isolation -> overwrite.validateNoConflictingDeletes());
        if (request.path("isolation").asText().equals("serializable")) {
            overwrite.validateNoConflictingData();
        }
        overwrite.commit();
    }

    private static void rowDelta(Table table, JsonNode request) throws Exception {
        RowDelta delta = table.newRowDelta().toBranch(branch(request));
        List<DataFile> files = dataFiles(table, request);
        files.forEach(delta::addRows);
        Map<String, ContentFile<?>> live = live(table, request);
        for (DeleteFile file : deleteFiles(table, request)) {
            delta.addDeletes(file);
            ContentFile<?> before = live.get("dv of " + file.referencedDataFile());
            if (before != null && ContentFileUtil.isDV(file)) {
                delta.removeDeletes((DeleteFile) before);
            }
            if (file.referencedDataFile() != null) {
                delta.validateDataFilesExist(List.of(file.referencedDataFile()));
            }
        }
        request.path("removed").forEach(path -> delta.removeRows((DataFile) live.get(path.asText())));
        request.path("removed_deletes").forEach(path -> delta.removeDeletes((DeleteFile) live.get(path.asText())));
        given(request, "since", snapshot -> delta.validateFromSnapshot(snapshot.asLong()));
        if (request.hasNonNull("isolation") && (!files.isEmpty() || request.path("removed").size() > 0)) {
            delta.validateNoConflictingDeleteFiles();
        }
        if (request.path("isolation").asText().equals("serializable")) {
            delta.validateNoConflictingDataFiles();
        }
        delta.validateDeletedFiles().commit();
    }

    private static void replace(Table table, JsonNode request) throws Exception {
        RewriteFiles rewrite = table.newRewrite().toBranch(branch(request));
        Map<String, ContentFile<?>> live = live(table, request);
        request.path("removed").forEach(path -> rewrite.deleteFile((DataFile) live.get(path.asText())));
        request.path("removed_deletes").forEach(path -> rewrite.deleteFile((DeleteFile) live.get(path.asText())));
        dataFiles(table, request).forEach(rewrite::addFile);
        given(request, "data_sequence_number", number -> rewrite.dataSequenceNumber(number.asLong()));
        given(request, "since", snapshot -> rewrite.validateFromSnapshot(snapshot.asLong()));
        rewrite.commit();
    }

    private interface Answer {
        Object get() throws Exception;
    }

    /** An answer that this engine may lack for tables that it reads: its error is as good a value to compare. */
    private static Object orError(Answer answer) {
        try {
            return answer.get();
        } catch (Exception thrown) {
            return Map.of("error", thrown.toString());
        }
    }
}
