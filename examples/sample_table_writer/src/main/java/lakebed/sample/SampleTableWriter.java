package lakebed.sample;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.paimon.catalog.Catalog;
import org.apache.paimon.catalog.CatalogContext;
import org.apache.paimon.catalog.CatalogFactory;
import org.apache.paimon.catalog.Identifier;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.BatchTableCommit;
import org.apache.paimon.table.sink.BatchTableWrite;
import org.apache.paimon.table.sink.BatchWriteBuilder;
import org.apache.paimon.types.DataTypes;

/**
 * Writes the sample table: real rows through real commits, of which only the metadata is kept.
 *
 * <p>The one argument is the table folder to replace. Rows come from a fixed seed; file names and commit times are the
 * engine's, so two runs differ in those alone.
 */
public final class SampleTableWriter {
    private static final LocalDate FIRST_DAY = LocalDate.of(2026, 1, 1);
    private static final int DAYS = 4;
    private static final List<String> REGIONS = List.of("apac", "emea", "us");
    private static final int BUCKETS = 2;
    private static final List<String> METADATA = List.of("snapshot", "schema", "manifest", "tag");

    private final Random random = new Random(7);
    private final Table table;
    private final IOManager io;
    private long nextId = 1;

    private SampleTableWriter(Table table, IOManager io) {
        this.table = table;
        this.io = io;
    }

    public static void main(String[] args) throws Exception {
        Path target = Path.of(args[0]).toAbsolutePath();
        Path scratch = Files.createTempDirectory("lakebed-sample-table");
        try (IOManager io = IOManager.create(scratch.resolve("spill").toString());
                Catalog catalog = openCatalog(scratch)) {
            new SampleTableWriter(createTable(catalog), io).writeHistory();
            keepMetadata(scratch.resolve("shop.db").resolve("orders"), target);
        } finally {
            deleteTree(scratch);
        }
    }

    private static Catalog openCatalog(Path warehouse) {
        return CatalogFactory.createCatalog(
                CatalogContext.create(new org.apache.paimon.fs.Path(warehouse.toUri().toString())));
    }

    private static Table createTable(Catalog catalog) throws Exception {
        Identifier orders = Identifier.create("shop", "orders");
        catalog.createDatabase("shop", false);
        Schema schema = Schema.newBuilder()
                .column("id", DataTypes.BIGINT())
                .column("customer", DataTypes.STRING())
                .column("amount", DataTypes.DECIMAL(12, 2))
                .column("ordered_at", DataTypes.TIMESTAMP(6))
                .column("dt", DataTypes.DATE())
                .column("region", DataTypes.STRING())
                .partitionKeys("dt", "region")
                .option("bucket", String.valueOf(BUCKETS))
                .option("bucket-key", "id")
                .comment("Orders of a small shop")
                .build();
        catalog.createTable(orders, schema, false);
        return catalog.getTable(orders);
    }

    /** Some days in the life of a table: daily loads, late rows, a compaction, a correction. */
    private void writeHistory() throws Exception {
        for (int day = 0; day < DAYS; day++) {
            appendDay(day, 120);
        }
        table.createTag("first-load");
        appendDay(0, 15);
        appendDay(1, 15);
        // A full compaction leaves a bucket of fewer than three files alone.
        appendDay(0, 10);
        compact(0);
        overwrite(1, "emea", 80);
        appendDay(DAYS - 1, 40);
    }

    private void appendDay(int day, int rowsPerRegion) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = newWrite(builder)) {
            for (String region : REGIONS) {
                writeRows(write, day, region, rowsPerRegion);
            }
            commit(builder, write);
        }
    }

    /** Rewrites each bucket of one day into a single file: DELETE entries for the old ones, one ADD for the new. */
    private void compact(int day) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder();
        try (BatchTableWrite write = newWrite(builder)) {
            for (String region : REGIONS) {
                for (int bucket = 0; bucket < BUCKETS; bucket++) {
                    write.compact(partition(day, region), bucket, true);
                }
            }
            commit(builder, write);
        }
    }

    private void overwrite(int day, String region, int rows) throws Exception {
        BatchWriteBuilder builder = table.newBatchWriteBuilder()
                .withOverwrite(Map.of("dt", date(day).toString(), "region", region));
        try (BatchTableWrite write = newWrite(builder)) {
            writeRows(write, day, region, rows);
            commit(builder, write);
        }
    }

    private BatchTableWrite newWrite(BatchWriteBuilder builder) {
        return (BatchTableWrite) builder.newWrite().withIOManager(io);
    }

    private static void commit(BatchWriteBuilder builder, BatchTableWrite write) throws Exception {
        try (BatchTableCommit commit = builder.newCommit()) {
            commit.commit(write.prepareCommit());
        }
    }

    private void writeRows(BatchTableWrite write, int day, String region, int rows) throws Exception {
        long midnight = date(day).toEpochDay() * 86_400_000_000L;
        for (int i = 0; i < rows; i++) {
            // One customer in 25 is a guest: a null, so that null counts have something to count.
            BinaryString customer = random.nextInt(25) == 0
                    ? null
                    : BinaryString.fromString(String.format("customer-%04d", random.nextInt(2_000)));
            BigDecimal amount = BigDecimal.valueOf(100 + random.nextInt(500_000), 2);
            long micros = midnight + (long) (random.nextDouble() * 86_400_000_000L);
            write.write(GenericRow.of(
                    nextId++,
                    customer,
                    Decimal.fromBigDecimal(amount, 12, 2),
                    Timestamp.fromMicros(micros),
                    (int) date(day).toEpochDay(),
                    BinaryString.fromString(region)));
        }
    }

    private static LocalDate date(int day) {
        return FIRST_DAY.plusDays(day);
    }

    private static BinaryRow partition(int day, String region) {
        BinaryRow row = new BinaryRow(2);
        BinaryRowWriter writer = new BinaryRowWriter(row);
        writer.writeInt(0, (int) date(day).toEpochDay());
        writer.writeString(1, BinaryString.fromString(region));
        writer.complete();
        return row;
    }

    private static void keepMetadata(Path table, Path target) throws IOException {
        for (String folder : METADATA) {
            deleteTree(target.resolve(folder));
            Files.createDirectories(target.resolve(folder));
            try (Stream<Path> files = Files.list(table.resolve(folder))) {
                for (Path file : files.filter(f -> !f.getFileName().toString().startsWith(".")).toList()) {
                    Files.copy(file, target.resolve(folder).resolve(file.getFileName()));
                }
            }
        }
    }

    private static void deleteTree(Path root) throws IOException {
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> paths = Files.walk(root)) {
            for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
