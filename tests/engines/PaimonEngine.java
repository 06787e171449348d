import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.Snapshot;
import org.apache.paimon.append.AppendCompactCoordinator;
import org.apache.paimon.append.AppendCompactTask;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.fileindex.FileIndexFormat;
import org.apache.paimon.format.SimpleColStats;
import org.apache.paimon.fs.ByteArraySeekableStream;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.SeekableInputStream;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.index.DeletionVectorMeta;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.manifest.ManifestFileMeta;
import org.apache.paimon.migrate.FileMetaUtils;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.core.JsonGenerator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.DeletionFile;
import org.apache.paimon.table.source.EndOfScanException;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.system.SystemTableLoader;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.utils.JsonSerdeUtil;
import org.apache.paimon.utils.SerializationUtils;

/**
 * Paimon's Java engine as a judge of tables: one request per line of input, one answer per line of output, both JSON.
 *
 * <p>A request names an operation and a table's folder: {"op": "read", "table": "/…"}. The answer is {"answer": …}, or
 * {"error": …} with whatever the engine threw. Of values, numbers are texts and bytes are hex.
 */
public final class PaimonEngine {
    private static final ObjectMapper JSON =
            new ObjectMapper().configure(JsonGenerator.Feature.ESCAPE_NON_ASCII, true);
    private static final List<String> SYSTEM_TABLES =
            List.of("files", "manifests", "partitions", "buckets", "snapshots", "tags", "table_indexes");

    /** What is written and not committed yet, so that others can come first. */
    private static List<CommitMessage> prepared = List.of();

    private final FileStoreTable table;

    private PaimonEngine(String folder, JsonNode branch) {
        Path root = new Path(java.nio.file.Path.of(folder).toUri());
        FileStoreTable main = FileStoreTableFactory.create(LocalFileIO.create(), root);
        table = branch == null ? main : main.switchToBranch(branch.asText());
    }

    private PaimonEngine(FileStoreTable table) {
        this.table = table;
    }

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
            PaimonEngine engine = new PaimonEngine(request.get("table").asText(), request.get("branch"));
            return Map.of("answer", engine.run(request.get("op").asText(), request));
        } catch (Throwable thrown) {
            StringWriter trace = new StringWriter();
            thrown.printStackTrace(new PrintWriter(trace));
            return Map.of("error", trace.toString());
        }
    }

    /** Of each live file with indexes of columns what their head names: per column and kind the offset and the size. */
    private Map<String, Object> fileIndexes() throws Exception {
        java.lang.reflect.Field header = FileIndexFormat.Reader.class.getDeclaredField("header");
        header.setAccessible(true);
        Map<String, Object> found = new TreeMap<>();
        for (DataSplit split : table.newSnapshotReader().read().dataSplits()) {
            for (DataFileMeta file : split.dataFiles()) {
                byte[] embedded = file.embeddedIndex();
                List<String> beside = file.extraFiles().stream().filter(name -> name.endsWith(".index")).toList();
                if (embedded == null && beside.isEmpty()) {
                    continue;
                }
                try (SeekableInputStream stream = embedded != null
                                ? new ByteArraySeekableStream(embedded)
                                : table.fileIO().newInputStream(new Path(split.bucketPath(), beside.get(0)));
                        FileIndexFormat.Reader reader = new FileIndexFormat.Reader(stream, table.rowType())) {
                    Map<String, Object> columns = new TreeMap<>();
                    ((Map<?, ?>) header.get(reader)).forEach((column, kinds) -> ((Map<?, ?>) kinds).forEach(
                            (kind, place) -> columns.put(column + " " + kind, place.toString())));
                    found.put(file.fileName(), columns);
                }
            }
        }
        return found;
    }

    private Object run(String operation, JsonNode request) throws Exception {
        return switch (operation) {
            case "read" -> read();
            case "plan" -> orError(() -> plan(request.get("equal")));
            case "between" -> orError(() -> between(request));
            case "postponed" -> postponed();
            case "rows" -> rows(table);
            case "file_indexes" -> fileIndexes();
            case "footer" -> footer(new Path(request.get("file").asText()), request.get("format").asText());
            case "expire" -> expire(request);
            case "orphans" -> orphans(request.get("older_than").asLong());
            case "alter" -> alter(request);
            case "create_tag", "delete_tag", "create_branch", "delete_branch", "fast_forward", "rollback_to" -> {
                changeRefs(operation, request);
                yield files();
            }
            default -> committed(operation, request);
        };
    }

    /** What the migration of other tables takes from a file's footer: per column lower and upper bound, and nulls. */
    private Map<String, Object> footer(Path file, String format) throws Exception {
        SimpleColStats[] found = FileMetaUtils.createSimpleStatsExtractor(table, format)
                .extract(table.fileIO(), file, table.fileIO().getFileSize(file));
        Map<String, Object> columns = new TreeMap<>();
        for (int place = 0; place < found.length; place++) {
            List<Object> stats = new ArrayList<>();
            for (Object one : new Object[] {found[place].min(), found[place].max(), found[place].nullCount()}) {
                stats.add(one == null ? null : String.valueOf(one));
            }
            columns.put(table.rowType().getFieldNames().get(place), stats);
        }
        return columns;
    }

    /** What would be deleted; nothing is. */
    private List<String> orphans(long olderThan) throws Exception {
        return new LocalOrphanFilesClean(table, olderThan, true).clean().getDeletedFilesPath().stream()
                .map(path -> path.toUri().getPath()).sorted().toList();
    }

    /** The snapshot that is the latest after a commit. */
    private JsonNode committed(String operation, JsonNode request) throws Exception {
        switch (operation) {
            case "compact" -> compact(request);
            case "prepare_compact" -> prepared = compacted();
            case "prepare_mark" -> prepared = marked(request);
            case "commit_prepared" -> commit(prepared);
            case "append" -> write(request, table.newBatchWriteBuilder());
            case "overwrite" -> write(request, table.newBatchWriteBuilder().withOverwrite(texts(request.get("partition"))));
            case "delete" -> delete(request);
            case "compact_manifests" -> {
                try (TableCommitImpl commit = newCommit()) {
                    commit.compactManifests();
                }
            }
            default -> throw new IllegalArgumentException(operation);
        }
        return JSON.readTree(table.snapshotManager().latestSnapshotFromFileSystem().toJson());
    }

    /** Expires snapshots, and changelogs where they are kept for longer, with the options of the table and others. */
    private int expire(JsonNode request) {
        FileStoreTable configured = table.copy(texts(request.get("options")));
        CoreOptions core = configured.coreOptions();
        int expired = configured.newExpireSnapshots().config(core.expireConfig()).expire();
        if (core.changelogLifecycleDecoupled()) {
            configured.newExpireChangelog().config(core.expireConfig()).expire();
        }
        return expired;
    }

    /** Changes the schema, and gives it. */
    private JsonNode alter(JsonNode request) throws Exception {
        List<SchemaChange> changes = new ArrayList<>();
        for (JsonNode change : request.get("changes")) {
            changes.add(JsonSerdeUtil.fromJson(change.toString(), SchemaChange.class));
        }
        return JSON.readTree(table.schemaManager().commitChanges(changes).toString());
    }

    private void changeRefs(String operation, JsonNode request) {
        String name = request.get("name").asText();
        switch (operation) {
            case "create_tag" -> table.createTag(name);
            case "delete_tag" -> table.deleteTag(name);
            case "create_branch" -> {
                if (request.has("tag")) {
                    table.createBranch(name, request.get("tag").asText());
                } else {
                    table.createBranch(name);
                }
            }
            case "delete_branch" -> table.deleteBranch(name);
            case "fast_forward" -> table.fastForward(name);
            default -> {
                if (request.get("name").isNumber()) {
                    table.rollbackTo(request.get("name").asLong());
                } else {
                    table.rollbackTo(name);
                }
            }
        }
    }

    /** The files and folders of the table, by their paths in it. */
    private List<String> files() throws Exception {
        java.nio.file.Path root = java.nio.file.Path.of(table.location().toUri().getPath());
        try (var found = java.nio.file.Files.walk(root)) {
            return found.map(path -> root.relativize(path).toString()).sorted().toList();
        }
    }

    // Reading.

    /** Everything that the metadata of the table and of its branches says. */
    private Map<String, Object> read() throws Exception {
        Map<String, Object> found = new LinkedHashMap<>();
        List<Object> snapshots = new ArrayList<>();
        Map<String, Object> lists = new TreeMap<>();
        Map<String, Object> manifests = new TreeMap<>();
        Map<String, Object> indexes = new TreeMap<>();
        List<FileStoreTable> branches = new ArrayList<>(List.of(table));
        table.branchManager().branches().forEach(name -> branches.add(table.switchToBranch(name)));
        for (FileStoreTable branch : branches) {
            for (Snapshot snapshot : everySnapshot(branch)) {
                snapshots.add(JSON.readTree(snapshot.toJson()));
                addManifests(branch, snapshot, lists, manifests);
                addIndexes(branch, snapshot, indexes);
            }
        }
        found.put("snapshots", snapshots);
        found.put("lists", lists);
        found.put("manifests", manifests);
        found.put("index_manifests", indexes);
        found.put("plan", orError(() -> plan(null)));
        Map<String, Object> system = new LinkedHashMap<>();
        for (String name : SYSTEM_TABLES) {
            system.put(name, orError(() -> rows(SystemTableLoader.load(name, table))));
        }
        found.put("system", system);
        return found;
    }

    /** The snapshots, tags and changelogs of a branch. */
    private static Collection<Snapshot> everySnapshot(FileStoreTable branch) throws Exception {
        Collection<Snapshot> found = new LinkedHashSet<>();
        branch.snapshotManager().snapshots().forEachRemaining(found::add);
        found.addAll(branch.tagManager().taggedSnapshots());
        branch.changelogManager().changelogs().forEachRemaining(found::add);
        return found;
    }

    private void addManifests(
            FileStoreTable branch, Snapshot snapshot, Map<String, Object> lists, Map<String, Object> manifests)
            throws Exception {
        Map<String, Long> named = new LinkedHashMap<>();
        named.put(snapshot.baseManifestList(), snapshot.baseManifestListSize());
        named.put(snapshot.deltaManifestList(), snapshot.deltaManifestListSize());
        named.put(snapshot.changelogManifestList(), snapshot.changelogManifestListSize());
        for (String name : named.keySet()) {
            if (name == null || lists.containsKey(name) || !isThere(name)) {
                continue;
            }
            List<ManifestFileMeta> records =
                    branch.store().manifestListFactory().create().read(name, named.get(name));
            lists.put(name, records.stream().map(PaimonEngine::listed).toList());
            for (ManifestFileMeta record : records) {
                if (!manifests.containsKey(record.fileName()) && isThere(record.fileName())) {
                    List<ManifestEntry> entries =
                            branch.store().manifestFileFactory().create().read(record.fileName(), record.fileSize());
                    manifests.put(record.fileName(), entries.stream().map(PaimonEngine::entry).toList());
                }
            }
        }
    }

    private void addIndexes(FileStoreTable branch, Snapshot snapshot, Map<String, Object> indexes) throws Exception {
        String name = snapshot.indexManifest();
        if (name != null && isThere(name)) {
            List<IndexManifestEntry> entries =
                    branch.store().indexManifestFileFactory().create().read(name);
            indexes.put(name, entries.stream().map(PaimonEngine::index).toList());
        }
    }

    /** Whether a manifest or list is still there: expired ones are known by name only. */
    private boolean isThere(String name) throws Exception {
        return table.fileIO().exists(new Path(table.location(), "manifest/" + name));
    }

    private static Map<String, Object> listed(ManifestFileMeta meta) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("file_name", meta.fileName());
        row.put("file_size", text(meta.fileSize()));
        row.put("num_added_files", text(meta.numAddedFiles()));
        row.put("num_deleted_files", text(meta.numDeletedFiles()));
        row.put("partition_stats", stats(meta.partitionStats()));
        row.put("schema_id", text(meta.schemaId()));
        row.put("min_bucket", text(meta.minBucket()));
        row.put("max_bucket", text(meta.maxBucket()));
        row.put("min_level", text(meta.minLevel()));
        row.put("max_level", text(meta.maxLevel()));
        row.put("min_row_id", text(meta.minRowId()));
        row.put("max_row_id", text(meta.maxRowId()));
        return row;
    }

    private static Map<String, Object> entry(ManifestEntry entry) {
        DataFileMeta file = entry.file();
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("kind", text(entry.kind()));
        row.put("partition_hex", hex(entry.partition()));
        row.put("bucket", text(entry.bucket()));
        row.put("total_buckets", text(entry.totalBuckets()));
        row.put("file_name", file.fileName());
        row.put("file_size", text(file.fileSize()));
        row.put("row_count", text(file.rowCount()));
        row.put("min_key_hex", hex(file.minKey()));
        row.put("max_key_hex", hex(file.maxKey()));
        row.put("key_stats", stats(file.keyStats()));
        row.put("value_stats", stats(file.valueStats()));
        row.put("min_sequence_number", text(file.minSequenceNumber()));
        row.put("max_sequence_number", text(file.maxSequenceNumber()));
        row.put("schema_id", text(file.schemaId()));
        row.put("level", text(file.level()));
        row.put("extra_files", file.extraFiles());
        row.put("creation_time_millis", text(file.creationTime().getMillisecond()));
        row.put("delete_row_count", text(file.deleteRowCount().orElse(null)));
        row.put("embedded_index_hex", hex(file.embeddedIndex()));
        row.put("file_source", text(file.fileSource().orElse(null)));
        row.put("value_stats_cols", file.valueStatsCols());
        row.put("external_path", file.externalPath().orElse(null));
        row.put("first_row_id", text(file.firstRowId()));
        row.put("write_cols", file.writeCols());
        return row;
    }

    private static Map<String, Object> index(IndexManifestEntry entry) {
        IndexFileMeta file = entry.indexFile();
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("kind", text(entry.kind()));
        row.put("partition_hex", hex(entry.partition()));
        row.put("bucket", text(entry.bucket()));
        row.put("index_type", file.indexType());
        row.put("file_name", file.fileName());
        row.put("file_size", text(file.fileSize()));
        row.put("row_count", text(file.rowCount()));
        row.put("dv_ranges", file.dvRanges() == null ? null : file.dvRanges().values().stream()
                .map(PaimonEngine::range).toList());
        row.put("external_path", file.externalPath());
        row.put("global_index", text(file.globalIndexMeta()));
        return row;
    }

    private static Map<String, Object> range(DeletionVectorMeta meta) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("data_file", meta.dataFileName());
        row.put("offset", text(meta.offset()));
        row.put("length", text(meta.length()));
        row.put("cardinality", text(meta.cardinality()));
        return row;
    }

    private static Map<String, Object> stats(SimpleStats stats) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("min_hex", hex(stats.minValues()));
        row.put("max_hex", hex(stats.maxValues()));
        BinaryArray counts = stats.nullCounts();
        row.put("null_counts", counts == null ? null : Arrays.stream(counts.toObjectArray(
                org.apache.paimon.types.DataTypes.BIGINT())).map(PaimonEngine::text).toList());
        return row;
    }

    /** The files that a query of the latest snapshot reads, by one value of some columns, and the deletion vectors that it applies. */
    /** The files of a read of what snapshots after one, up to another, added. */
    private List<String> between(JsonNode request) {
        String range = request.get("after").asText() + "," + request.get("to").asText();
        Table read = table.copy(Map.of("incremental-between", range, "incremental-between-scan-mode", "delta"));
        List<String> files = new ArrayList<>();
        for (Split split : read.newReadBuilder().newScan().plan().splits()) {
            ((DataSplit) split).dataFiles().forEach(file -> files.add(file.fileName()));
        }
        return files;
    }

    private Map<String, Object> plan(JsonNode equal) {
        List<String> files = new ArrayList<>();
        Map<String, Object> deletions = new TreeMap<>();
        ReadBuilder builder = table.newReadBuilder();
        if (equal != null) {
            PredicateBuilder predicates = new PredicateBuilder(table.rowType());
            equal.fields().forEachRemaining(one -> {
                int column = table.rowType().getFieldIndex(one.getKey());
                builder.withFilter(predicates.equal(column, value(table.rowType().getTypeAt(column), one.getValue())));
            });
        }
        for (Split split : builder.newScan().plan().splits()) {
            DataSplit data = (DataSplit) split;
            List<DeletionFile> attached = data.deletionFiles().orElse(null);
            for (int i = 0; i < data.dataFiles().size(); i++) {
                String name = data.dataFiles().get(i).fileName();
                files.add(name);
                if (attached != null && attached.get(i) != null) {
                    DeletionFile file = attached.get(i);
                    deletions.put(name, Map.of(
                            "path", portable(file.path()), "offset", text(file.offset()),
                            "length", text(file.length()), "cardinality", String.valueOf(file.cardinality())));
                }
            }
        }
        files.sort(null);
        return Map.of("files", files, "deletion_files", deletions);
    }

    /** The rows of the table itself or of one of its system tables, as texts. */
    private List<Object> rows(Table system) throws Exception {
        return rows(system, system.newReadBuilder().newScan().plan().splits());
    }

    /** The rows that wait for their bucket, as the job reads them that gives them one. */
    private List<Object> postponed() throws Exception {
        return rows(table, table.newSnapshotReader().withBucket(BucketMode.POSTPONE_BUCKET).read().splits());
    }

    private List<Object> rows(Table from, List<Split> splits) throws Exception {
        List<Object> found = new ArrayList<>();
        for (Split split : splits) {
            try (RecordReader<InternalRow> reader = from.newReadBuilder().newRead().createReader(split)) {
                reader.forEachRemaining(row -> found.add(row(from.rowType().getFields(), row)));
            }
        }
        return found;
    }

    private Map<String, Object> row(List<DataField> fields, InternalRow row) {
        Map<String, Object> texts = new LinkedHashMap<>();
        for (int i = 0; i < fields.size(); i++) {
            Object value = InternalRow.createFieldGetter(fields.get(i).type(), i).getFieldOrNull(row);
            texts.put(fields.get(i).name(), value == null ? null : portable(value.toString()));
        }
        return texts;
    }

    private String portable(String text) {
        String root = table.location().toUri().getPath();
        return text.replace("file:" + root, "${TABLE}").replace(root, "${TABLE}");
    }

    // Committing.

    /** Writes rows, given by column in the order of the schema, as a job of the engine does. */
    private void write(JsonNode request, BatchWriteBuilder builder) throws Exception {
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                BatchTableWrite write = (BatchTableWrite) builder.newWrite().withIOManager(io);
                var commit = builder.newCommit()) {
            for (JsonNode row : request.get("rows")) {
                Object[] values = new Object[row.size()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = value(table.rowType().getTypeAt(i), row.get(i));
                }
                write.write(GenericRow.of(values));
            }
            commit.commit(write.prepareCommit());
        }
    }

    private static Object value(DataType type, JsonNode value) {
        if (value.isNull()) {
            return null;
        }
        return switch (type.getTypeRoot()) {
            case CHAR, VARCHAR -> BinaryString.fromString(value.asText());
            case INTEGER -> value.asInt();
            case BIGINT -> value.asLong();
            case DOUBLE -> value.asDouble();
            case BOOLEAN -> value.asBoolean();
            case DATE -> (int) LocalDate.parse(value.asText()).toEpochDay();
            case DECIMAL -> {
                BigDecimal decimal = new BigDecimal(value.asText());
                yield Decimal.fromBigDecimal(decimal, decimal.precision(), decimal.scale());
            }
            case TIMESTAMP_WITHOUT_TIME_ZONE -> Timestamp.fromMicros(value.asLong());
            default -> throw new IllegalArgumentException(type.toString());
        };
    }

    private static Map<String, String> texts(JsonNode object) {
        Map<String, String> found = new LinkedHashMap<>();
        object.fields().forEachRemaining(field -> found.put(field.getKey(), field.getValue().asText()));
        return found;
    }

    /** Deletes files by their names, without looking into them. */
    private void delete(JsonNode request) throws Exception {
        List<String> names = new ArrayList<>();
        request.get("files").forEach(name -> names.add(name.asText()));
        List<CommitMessage> messages = new ArrayList<>();
        for (ManifestEntry entry : table.store().newScan().plan().files()) {
            if (names.remove(entry.file().fileName())) {
                DataIncrement deleted = new DataIncrement(List.of(), List.of(entry.file()), List.of());
                messages.add(new CommitMessageImpl(
                        entry.partition(), entry.bucket(), entry.totalBuckets(), deleted,
                        CompactIncrement.emptyIncrement()));
            }
        }
        if (!names.isEmpty()) {
            throw new IllegalArgumentException("not live: " + names);
        }
        commit(messages);
    }

    /** What `sys.compact` does with its argument `options`, of tables with buckets and without. */
    private void compact(JsonNode request) throws Exception {
        Map<String, String> options = new LinkedHashMap<>(Map.of(CoreOptions.WRITE_ONLY.key(), "false"));
        for (String pair : request.get("options").asText().split(",")) {
            options.put(pair.split("=", 2)[0], pair.split("=", 2)[1]);
        }
        PaimonEngine configured = new PaimonEngine(table.copy(options));
        List<CommitMessage> messages = new ArrayList<>();
        if (table.bucketMode() == BucketMode.BUCKET_UNAWARE) {
            var write = (BaseAppendFileStoreWrite) configured.table.store().newWrite("compact");
            try {
                for (AppendCompactTask task : new AppendCompactCoordinator(configured.table, false).run()) {
                    messages.add(task.doCompact(configured.table, write));
                }
            } catch (EndOfScanException e) {
                // As the procedure: there is no candidate.
            } finally {
                write.close();
            }
        } else {
            messages = configured.compacted();
        }
        commit(messages);
    }

    /** Compacts every bucket whole. */
    private List<CommitMessage> compacted() throws Exception {
        try (IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
                BatchTableWrite write =
                        (BatchTableWrite) table.newBatchWriteBuilder().newWrite().withIOManager(io)) {
            List<ManifestEntry> files = table.store().newScan().plan().files();
            for (var bucket : files.stream().map(file -> List.of(file.partition(), file.bucket())).distinct().toList()) {
                write.compact((BinaryRow) bucket.get(0), (Integer) bucket.get(1), true);
            }
            return write.prepareCommit();
        }
    }

    /** Marks rows of files as deleted in a table without buckets: {"files": {name: [position, …]}}. */
    private List<CommitMessage> marked(JsonNode request) throws Exception {
        List<CommitMessage> messages = new ArrayList<>();
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        for (ManifestEntry file : table.store().newScan().plan().files()) {
            JsonNode positions = request.get("files").get(file.file().fileName());
            if (positions == null) {
                continue;
            }
            var maintainer = BaseAppendDeleteFileMaintainer.forUnawareAppend(
                    table.store().newIndexFileHandler(), snapshot, file.partition());
            DeletionVector vector = new BitmapDeletionVector();
            positions.forEach(position -> vector.delete(position.asLong()));
            maintainer.notifyNewDeletionVector(file.file().fileName(), vector);
            List<IndexFileMeta> added = new ArrayList<>();
            List<IndexFileMeta> removed = new ArrayList<>();
            for (IndexManifestEntry entry : maintainer.persist()) {
                (entry.kind() == FileKind.ADD ? added : removed).add(entry.indexFile());
            }
            DataIncrement increment = new DataIncrement(List.of(), List.of(), List.of(), added, removed);
            messages.add(new CommitMessageImpl(
                    file.partition(), file.bucket(), file.totalBuckets(), increment, CompactIncrement.emptyIncrement()));
        }
        return messages;
    }

    private void commit(List<CommitMessage> messages) throws Exception {
        try (TableCommitImpl commit = newCommit()) {
            commit.commit(messages);
        }
    }

    private TableCommitImpl newCommit() {
        return table.newCommit(UUID.randomUUID().toString());
    }

    // Texts.

    private interface Answer {
        Object get() throws Exception;
    }

    /** An answer that this engine may lack for tables that it reads: its error is as good a value to compare. */
    private static Object orError(Answer answer) {
        try {
            return answer.get();
        } catch (Exception thrown) {
            return Map.of("error", thrown.getClass().getName());
        }
    }

    private static String text(Object value) {
        return Objects.toString(value, null);
    }

    private static String hex(BinaryRow row) {
        return hex(SerializationUtils.serializeBinaryRow(row));
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HexFormat.of().formatHex(bytes);
    }
}
