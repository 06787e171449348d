package org.apache.iceberg;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;

/**
 * Writes a table of metadata only: data and delete files that exist nowhere, in manifests and commits of Iceberg's
 * own. It stands in Iceberg's package because writing a manifest with chosen properties is not public.
 *
 * <p>Options: --location DIR --entries N --columns 12 --regions 20 --days 50 --per-manifest 10000 --codec gzip
 * --format-version 2 --container avro|parquet (of version 4, which needs a location with a scheme) --metrics full|none --pos-deletes 0 --deletes-of both|one --eq-deletes 0 --seed 5. {@code iceberg_rows.py} makes the same files.
 */
public final class BenchTable {
  private static final Type[] CYCLE = {
    Types.IntegerType.get(), Types.DoubleType.get(), Types.StringType.get(), Types.DecimalType.of(18, 2),
    Types.DateType.get(), Types.LongType.get(), Types.BooleanType.get(), Types.FloatType.get(),
    Types.StringType.get()
  };
  private static final int FIRST_DAY = 20_000;
  private static final long DAY_MICROS = 86_400_000_000L;

  private final Map<String, String> options = new HashMap<>();
  private final int formatVersion;
  private final int entries;
  private final int regions;
  private final int days;
  private final Schema schema;
  private final PartitionSpec spec;
  private final Table table;

  private BenchTable(String[] arguments) {
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].substring("--".length()), arguments[i + 1]);
    }
    formatVersion = number("format-version", 2);
    entries = number("entries", 50_000);
    regions = number("regions", 20);
    days = number("days", 50);
    Schema columns = columns(number("columns", 12));
    PartitionSpec by = PartitionSpec.builderFor(columns).identity("region").day("event_ts").build();
    Map<String, String> properties =
        Map.of("format-version", "" + formatVersion, "commit.manifest-merge.enabled", "false");
    table = new HadoopTables(new Configuration())
        .create(columns, by, SortOrder.unsorted(), properties, options.get("location"));
    schema = table.schema();
    spec = table.spec();
  }

  public static void main(String[] arguments) throws Exception {
    BenchTable made = new BenchTable(arguments);
    made.appendDataFiles();
    made.addDeleteFiles();
  }

  private int number(String option, int otherwise) {
    return Integer.parseInt(options.getOrDefault(option, "" + otherwise));
  }

  private static Schema columns(int count) {
    List<Types.NestedField> fields = new ArrayList<>();
    fields.add(Types.NestedField.required(1, "id", Types.LongType.get()));
    fields.add(Types.NestedField.optional(2, "region", Types.StringType.get()));
    fields.add(Types.NestedField.required(3, "event_ts", Types.TimestampType.withZone()));
    for (int id = 4; id <= count; id++) {
      fields.add(Types.NestedField.optional(id, "c" + id, CYCLE[(id - 4) % CYCLE.length]));
    }
    return new Schema(fields);
  }

  private void appendDataFiles() throws Exception {
    int perManifest = number("per-manifest", 10_000);
    Random random = new Random(number("seed", 5));
    Map<String, String> codec = Map.of("write.avro.compression-codec", options.getOrDefault("codec", "gzip"));
    AppendFiles append = table.newFastAppend();
    for (int start = 0; start < entries; start += perManifest) {
      String location = options.get("location") + "/metadata/bulk-m" + start / perManifest + "." + options.getOrDefault("container", "avro");
      OutputFile out = table.io().newOutputFile(location);
      ManifestWriter<DataFile> writer = ManifestFiles.write(formatVersion, spec, out, null, codec);
      for (int i = start; i < Math.min(entries, start + perManifest); i++) {
        writer.add(dataFile(i, random));
      }
      writer.close();
      append.appendManifest(writer.toManifestFile());
    }
    append.commit();
  }

  private void addDeleteFiles() {
    int positions = number("pos-deletes", 0);
    int equalities = number("eq-deletes", 0);
    if (positions + equalities == 0) {
      return;
    }
    Random random = new Random(number("seed", 5));
    RowDelta delta = table.newRowDelta();
    for (int k = 0; k < positions; k++) {
      delta.addDeletes(positionDelete((int) ((long) k * entries / positions), k, random));
    }
    for (int k = 0; k < equalities; k++) {
      delta.addDeletes(equalityDelete((int) ((long) k * entries / equalities), k, random));
    }
    delta.commit();
  }

  private int day(int i) {
    return FIRST_DAY + (int) ((long) i * days / entries);
  }

  private int region(int i) {
    return (int) ((i * 2654435761L >>> 7) % regions);
  }

  private String regionName(int i) {
    return String.format("region-%03d", region(i));
  }

  private PartitionData partition(int i) {
    PartitionData found = new PartitionData(spec.partitionType());
    found.set(0, regionName(i));
    found.set(1, day(i));
    return found;
  }

  private String folder(int i) {
    return "s3://bench-bucket/warehouse/db/events/data/" + spec.partitionToPath(partition(i)) + "/";
  }

  private String path(int i) {
    UUID unique = new UUID(i * 0x9E3779B97F4A7C15L, i * 0xC2B2AE3D27D4EB4FL);
    return folder(i) + String.format("%05d-%d-%s-00001.parquet", i % 1000, i, unique);
  }

  private DataFile dataFile(int i, Random random) {
    long rows = 1000 + random.nextInt(9000);
    Map<Integer, Long> sizes = new HashMap<>();
    Map<Integer, Long> values = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, Long> nans = new HashMap<>();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    long size = 4;
    for (Types.NestedField field : schema.columns()) {
      int id = field.fieldId();
      long columnSize = 500 + random.nextInt(100_000);
      size += columnSize;
      sizes.put(id, columnSize);
      values.put(id, rows);
      nulls.put(id, field.isRequired() || id == 2 ? 0L : (long) random.nextInt(50));
      int low = random.nextInt(1_000_000);
      int high = low + 1 + random.nextInt(1000);
      switch (field.type().typeId()) {
        case DOUBLE -> nans.put(id, 0L);
        case FLOAT -> nans.put(id, (long) random.nextInt(2));
        default -> { }
      }
      Object[] bounds = bounds(field, i, rows, low, high);
      lower.put(id, Conversions.toByteBuffer(field.type(), bounds[0]));
      upper.put(id, Conversions.toByteBuffer(field.type(), bounds[1]));
    }
    Metrics metrics = options.getOrDefault("metrics", "full").equals("none")
        ? new Metrics(rows)
        : new Metrics(rows, sizes, values, nulls, nans, lower, upper);
    return DataFiles.builder(spec).withPath(path(i)).withFormat(FileFormat.PARQUET).withPartition(partition(i))
        .withFileSizeInBytes(size).withMetrics(metrics).withSplitOffsets(List.of(4L))
        .withSortOrder(SortOrder.unsorted()).build();
  }

  private Object[] bounds(Types.NestedField field, int i, long rows, int low, int high) {
    long midnight = day(i) * DAY_MICROS;
    return switch (field.type().typeId()) {
      case LONG -> field.fieldId() == 1
          ? new Object[] {i * 10_000L, i * 10_000L + rows - 1}
          : new Object[] {low * 7919L, high * 7919L};
      case INTEGER -> new Object[] {low, high};
      case DOUBLE -> new Object[] {low / 7.0, high / 7.0};
      case FLOAT -> new Object[] {low / 4f, high / 4f};
      case DECIMAL -> new Object[] {BigDecimal.valueOf(low, 2), BigDecimal.valueOf(high * 100L, 2)};
      case BOOLEAN -> new Object[] {false, true};
      case DATE -> new Object[] {18_000 + low % 900, 19_000 + high % 900};
      case TIMESTAMP -> new Object[] {midnight + low, midnight + 80_000_000_000L + high};
      default -> field.fieldId() == 2
          ? new Object[] {regionName(i), regionName(i)}
          : new Object[] {String.format("key-%012d", low), String.format("key-%011d~", high)};
    };
  }

  /** Of one file (every other one, or all), or of two of its partition. */
  private DeleteFile positionDelete(int i, int k, Random random) {
    boolean ofOneFile = k % 2 == 0 || options.getOrDefault("deletes-of", "both").equals("one");
    int other = i;
    for (int j = i + 1; !ofOneFile && other == i && j < Math.min(entries, i + 4000); j++) {
      other = region(j) == region(i) && day(j) == day(i) ? j : i;
    }
    String first = path(i).compareTo(path(other)) <= 0 ? path(i) : path(other);
    String last = first.equals(path(i)) ? path(other) : path(i);
    int pathId = MetadataColumns.DELETE_FILE_PATH.fieldId();
    int positionId = MetadataColumns.DELETE_FILE_POS.fieldId();
    Types.StringType text = Types.StringType.get();
    Types.LongType number = Types.LongType.get();
    long rows = 1 + random.nextInt(100);
    Metrics metrics = new Metrics(rows, Map.of(pathId, 120L, positionId, 90L),
        Map.of(pathId, rows, positionId, rows), Map.of(pathId, 0L, positionId, 0L), Map.of(),
        Map.of(pathId, Conversions.toByteBuffer(text, first), positionId, Conversions.toByteBuffer(number, 0L)),
        Map.of(pathId, Conversions.toByteBuffer(text, last), positionId, Conversions.toByteBuffer(number, 900L)));
    FileMetadata.Builder builder = FileMetadata.deleteFileBuilder(spec).ofPositionDeletes()
        .withFormat(FileFormat.PARQUET).withPath(folder(i) + "pd-" + k + "-deletes.parquet")
        .withPartition(partition(i)).withFileSizeInBytes(1500 + random.nextInt(500)).withMetrics(metrics)
        .withSplitOffsets(List.of(4L));
    return (ofOneFile ? builder.withReferencedDataFile(path(i)) : builder).build();
  }

  /** By `id`, of the files of its partition among some two thousand. */
  private DeleteFile equalityDelete(int i, int k, Random random) {
    long rows = 1 + random.nextInt(20);
    long low = i * 10_000L;
    long high = Math.min(entries * 10_000L, low + 20_000_000L);
    Metrics metrics = new Metrics(rows, Map.of(1, 60L), Map.of(1, rows), Map.of(1, 0L), Map.of(),
        Map.of(1, Conversions.toByteBuffer(Types.LongType.get(), low)),
        Map.of(1, Conversions.toByteBuffer(Types.LongType.get(), high)));
    return FileMetadata.deleteFileBuilder(spec).ofEqualityDeletes(1).withFormat(FileFormat.PARQUET)
        .withPath(folder(i) + "ed-" + k + "-deletes.parquet").withPartition(partition(i))
        .withFileSizeInBytes(700 + random.nextInt(300)).withMetrics(metrics)
        .withSortOrder(SortOrder.unsorted()).withSplitOffsets(List.of(4L)).build();
  }
}
