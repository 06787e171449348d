package lakebed.sample;

import java.io.IOException;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.PartitionKey;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.FileWriterFactory;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Types;

/**
 * Writes the Iceberg sample table: real rows through real commits, of which only the metadata is kept.
 *
 * <p>The two arguments are the location where the table is written, which its metadata goes on to speak of, and the
 * folder to replace. Rows come from a fixed seed; file names, ids and commit times are the engine's.
 */
public final class SampleIcebergTableWriter {
    private static final LocalDate FIRST_DAY = LocalDate.of(2026, 1, 1);
    private static final int DAYS = 4;
    private static final List<String> REGIONS = List.of("apac", "emea", "us");
    private static final Schema SCHEMA = new Schema(
            Types.NestedField.required(1, "id", Types.LongType.get()),
            Types.NestedField.optional(2, "customer", Types.StringType.get()),
            Types.NestedField.optional(3, "amount", Types.DecimalType.of(12, 2)),
            Types.NestedField.optional(4, "ordered_at", Types.TimestampType.withoutZone()),
            Types.NestedField.required(5, "dt", Types.DateType.get()),
            Types.NestedField.required(6, "region", Types.StringType.get()));

    private final Random random = new Random(7);
    private final Table table;
    private final OutputFileFactory places;
    private long nextId = 1;

    private SampleIcebergTableWriter(Table table) {
        this.table = table;
        this.places = OutputFileFactory.builderFor(table, 1, 1).format(FileFormat.PARQUET).build();
    }

    public static void main(String[] args) throws Exception {
        Path location = Path.of(args[0]).toAbsolutePath();
        Path target = Path.of(args[1]).toAbsolutePath();
        if (Files.exists(location)) {
            throw new IOException(location + " is there already");
        }
        try {
            new SampleIcebergTableWriter(createTable(location)).writeHistory();
            keepMetadata(location, target);
        } finally {
            deleteTree(location);
        }
    }

    private static Table createTable(Path location) {
        PartitionSpec spec = PartitionSpec.builderFor(SCHEMA).identity("dt").identity("region").build();
        Map<String, String> properties =
                Map.of(TableProperties.FORMAT_VERSION, "3", "comment", "Orders of a small shop");
        return new HadoopTables(new Configuration()).create(SCHEMA, spec, properties, location.toString());
    }

    /** Some days in the life of a table: daily loads, late rows, a correction, deletes of both kinds, a compaction. */
    private void writeHistory() throws IOException {
        List<DataFile> first = appendDay(0, 120);
        List<DataFile> second = appendDay(1, 120);
        appendDay(2, 120);
        appendDay(DAYS - 1, 120);
        table.manageSnapshots().createTag("first-load", table.currentSnapshot().snapshotId()).commit();
        List<DataFile> late = appendDay(0, 15);
        overwrite(second.get(1), 1, "emea", 80);
        deletePositions(List.of(first.get(0), second.get(2)), 10);
        deleteCustomer(2, "emea", "customer-0007");
        compact(List.of(first.get(1), late.get(1)), 0, "emea", 135);
        table.manageSnapshots().createBranch("audit", table.currentSnapshot().snapshotId()).commit();
        appendDay(DAYS - 1, 40);
    }

    private List<DataFile> appendDay(int day, int rowsPerRegion) throws IOException {
        AppendFiles append = table.newAppend();
        List<DataFile> files = new ArrayList<>();
        for (String region : REGIONS) {
            DataFile file = writeRows(day, region, rowsPerRegion);
            files.add(file);
            append.appendFile(file);
        }
        append.commit();
        return files;
    }

    private void overwrite(DataFile old, int day, String region, int rows) throws IOException {
        OverwriteFiles overwrite = table.newOverwrite();
        overwrite.deleteFile(old).addFile(writeRows(day, region, rows)).commit();
    }

    /** Deletes the first rows of some files: one deletion vector each, all in one Puffin file. */
    private void deletePositions(List<DataFile> files, int rows) throws IOException {
        DVFileWriter writer = new BaseDVFileWriter(
                OutputFileFactory.builderFor(table, 1, 2).format(FileFormat.PUFFIN).build(), path -> null);
        try (writer) {
            for (DataFile file : files) {
                for (long position = 0; position < rows; position++) {
                    writer.delete(file.location(), position, table.spec(), file.partition());
                }
            }
        }
        var delta = table.newRowDelta();
        writer.result().deleteFiles().forEach(delta::addDeletes);
        delta.commit();
    }

    /** Deletes whatever a customer ordered on a day, by an equality delete file. */
    private void deleteCustomer(int day, String region, String customer) throws IOException {
        Schema key = SCHEMA.select("customer");
        FileWriterFactory<Record> factory = new GenericFileWriterFactory.Builder(table)
                .deleteFileFormat(FileFormat.PARQUET)
                .equalityFieldIds(new int[] {SCHEMA.findField("customer").fieldId()})
                .equalityDeleteRowSchema(key)
                .build();
        PartitionKey partition = partition(day, region);
        EqualityDeleteWriter<Record> writer = factory.newEqualityDeleteWriter(
                places.newOutputFile(table.spec(), partition), table.spec(), partition);
        try (writer) {
            writer.write(GenericRecord.create(key).copy("customer", customer));
        }
        DeleteFile file = writer.toDeleteFile();
        table.newRowDelta().addDeletes(file).commit();
    }

    /** Rewrites files into one. */
    private void compact(List<DataFile> old, int day, String region, int rows) throws IOException {
        table.newRewrite().rewriteFiles(Set.copyOf(old), Set.of(writeRows(day, region, rows))).commit();
    }

    private DataFile writeRows(int day, String region, int rows) throws IOException {
        PartitionKey partition = partition(day, region);
        FileWriterFactory<Record> factory =
                new GenericFileWriterFactory.Builder(table).dataFileFormat(FileFormat.PARQUET).build();
        DataWriter<Record> writer =
                factory.newDataWriter(places.newOutputFile(table.spec(), partition), table.spec(), partition);
        try (writer) {
            for (int i = 0; i < rows; i++) {
                writer.write(row(day, region));
            }
        }
        return writer.toDataFile();
    }

    private Record row(int day, String region) {
        LocalDateTime midnight = date(day).atStartOfDay();
        Record row = GenericRecord.create(SCHEMA);
        row.setField("id", nextId++);
        // One customer in 25 is a guest: a null, so that null counts have something to count.
        row.setField(
                "customer",
                random.nextInt(25) == 0 ? null : String.format("customer-%04d", random.nextInt(2_000)));
        row.setField("amount", BigDecimal.valueOf(100 + random.nextInt(500_000), 2));
        row.setField("ordered_at", midnight.plusSeconds(random.nextInt(86_400)));
        row.setField("dt", date(day));
        row.setField("region", region);
        return row;
    }

    private static LocalDate date(int day) {
        return FIRST_DAY.plusDays(day);
    }

    private PartitionKey partition(int day, String region) {
        Record row = GenericRecord.create(SCHEMA);
        row.setField("dt", date(day));
        row.setField("region", region);
        PartitionKey key = new PartitionKey(table.spec(), SCHEMA);
        key.partition(new InternalRecordWrapper(SCHEMA.asStruct()).wrap(row));
        return key;
    }

    private static void keepMetadata(Path location, Path target) throws IOException {
        deleteTree(target.resolve("metadata"));
        Files.createDirectories(target.resolve("metadata"));
        try (Stream<Path> files = Files.list(location.resolve("metadata"))) {
            for (Path file : files.filter(f -> !f.getFileName().toString().startsWith(".")).toList()) {
                Files.copy(file, target.resolve("metadata").resolve(file.getFileName()));
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
