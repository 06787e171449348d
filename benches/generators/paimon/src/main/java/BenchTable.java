import java.math.BigDecimal;
import java.nio.file.Paths;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.BinaryRowWriter;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.schema.SchemaManager;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;

/**
 * Writes an append table of metadata only: data files that exist nowhere, committed by Paimon itself.
 *
 * <p>Options: --out DIR --entries N --columns 12 --partitions 100 --per-commit 100000 --churn PERCENT
 * --stats truncate|none. Entries are those written, ADD and DELETE; churn is the share of them that cancel each other.
 * {@code pypaimon_table.py} makes tables of the same columns.
 */
public final class BenchTable {
  private static final DataType[] CYCLE = {
    DataTypes.INT(), DataTypes.STRING(), DataTypes.DOUBLE(), DataTypes.TIMESTAMP(6), DataTypes.DECIMAL(18, 2),
    DataTypes.BIGINT(), DataTypes.STRING(), DataTypes.DATE(), DataTypes.BOOLEAN(), DataTypes.DECIMAL(30, 4)
  };
  private static final LocalDate FIRST_DAY = LocalDate.of(2020, 1, 1);
  private static final int COMPACTED_INTO = 5;

  private final Map<String, String> options = new HashMap<>();
  private final Random random = new Random(42);
  private final DataType[] types;
  private final boolean stats;
  private int serial;
  private long commits;
  private int written;
  private int cancelled;

  private BenchTable(String[] arguments) {
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].substring("--".length()), arguments[i + 1]);
    }
    types = new DataType[number("columns", 12)];
    for (int i = 0; i < types.length; i++) {
      types[i] = i == 0 ? DataTypes.STRING() : i == 1 ? DataTypes.BIGINT() : CYCLE[(i - 2) % CYCLE.length];
    }
    stats = !options.getOrDefault("stats", "truncate").equals("none");
  }

  public static void main(String[] arguments) throws Exception {
    new BenchTable(arguments).write();
    System.exit(0);
  }

  private int number(String option, int otherwise) {
    return Integer.parseInt(options.getOrDefault(option, "" + otherwise));
  }

  private void write() throws Exception {
    Path root = new Path(Paths.get(options.get("out")).toAbsolutePath().toUri().toString());
    new SchemaManager(LocalFileIO.create(), root).createTable(schema());
    FileStoreTable table = FileStoreTableFactory.create(LocalFileIO.create(), root);
    int entries = number("entries", 50_000);
    int churn = number("churn", 0);
    try (TableCommitImpl commit = table.newCommit("bench")) {
      while (written < entries) {
        Map<Integer, List<DataFileMeta>> added = append(commit, Math.min(additions(churn), entries - written));
        if (churn > 0) {
          compact(commit, added, (int) ((long) written * churn / 200) - cancelled / 2);
        }
      }
    }
  }

  private Schema schema() {
    Schema.Builder builder = Schema.newBuilder();
    for (int i = 0; i < types.length; i++) {
      builder.column(i == 0 ? "dt" : i == 1 ? "id" : "c" + i, types[i]);
    }
    // Manifests stay as committed.
    return builder.partitionKeys("dt").option("bucket", "-1").option("write-only", "true")
        .option("manifest.compression", "zstd").option("manifest.full-compaction-threshold-size", "100 gb")
        .option("manifest.merge-min-count", "1000000")
        .option("metadata.stats-mode", stats ? "truncate(16)" : "none").build();
  }

  /** What a commit adds, so that with the compaction behind it the entries are those of a commit. */
  private int additions(int churn) {
    return (int) Math.ceil(number("per-commit", 100_000) / (1 + churn / 200.0 * 1.2));
  }

  private Map<Integer, List<DataFileMeta>> append(TableCommitImpl commit, int files) {
    int partitions = number("partitions", 100);
    Map<Integer, List<DataFileMeta>> added = new HashMap<>();
    for (int i = 0; i < files; i++) {
      int partition = random.nextInt(partitions);
      added.computeIfAbsent(partition, key -> new ArrayList<>()).add(file(partition, FileSource.APPEND));
    }
    List<CommitMessage> messages = new ArrayList<>();
    added.forEach((partition, news) -> messages.add(
        message(partition, new DataIncrement(news, List.of(), List.of()), CompactIncrement.emptyIncrement())));
    commit.commit(++commits, messages);
    written += files;
    return added;
  }

  /** Takes at least so many of the files that were added away again, a fifth as many in their place. */
  private void compact(TableCommitImpl commit, Map<Integer, List<DataFileMeta>> added, int wanted) {
    List<CommitMessage> messages = new ArrayList<>();
    int taken = 0;
    for (Map.Entry<Integer, List<DataFileMeta>> entry : added.entrySet()) {
      if (taken >= wanted) {
        break;
      }
      List<DataFileMeta> before = entry.getValue();
      List<DataFileMeta> after = new ArrayList<>();
      for (int i = 0; i < Math.max(1, before.size() / COMPACTED_INTO); i++) {
        after.add(file(entry.getKey(), FileSource.COMPACT));
      }
      taken += before.size();
      written += before.size() + after.size();
      cancelled += 2 * before.size();
      messages.add(message(
          entry.getKey(), DataIncrement.emptyIncrement(), new CompactIncrement(before, after, List.of())));
    }
    if (!messages.isEmpty()) {
      commit.commit(++commits, messages);
    }
  }

  private CommitMessage message(int partition, DataIncrement data, CompactIncrement compacted) {
    BinaryRow row = new BinaryRow(1);
    BinaryRowWriter writer = new BinaryRowWriter(row);
    writer.writeString(0, BinaryString.fromString(day(partition)));
    writer.complete();
    return new CommitMessageImpl(row, 0, -1, data, compacted);
  }

  private static String day(int partition) {
    return FIRST_DAY.plusDays(partition).toString();
  }

  private DataFileMeta file(int partition, FileSource source) {
    long[] base = new long[types.length];
    for (int i = 0; i < base.length; i++) {
      base[i] = Math.floorMod(random.nextLong(), 1L << (i == 1 ? 40 : 32));
    }
    long rows = 10_000 + random.nextInt(90_000);
    SimpleStats found = stats
        ? new SimpleStats(bounds(day(partition), base, 0), bounds(day(partition), base, 1), nullCounts(base[1]))
        : SimpleStats.EMPTY_STATS;
    List<String> columns = stats ? null : Collections.emptyList();
    String name = String.format("data-%08x-%04x-%04x-%04x-%012x-%d.parquet", random.nextInt(),
        random.nextInt() & 0xffff, random.nextInt() & 0xffff, random.nextInt() & 0xffff,
        random.nextLong() & 0xffffffffffffL, serial++ % 10);
    return DataFileMeta.forAppend(name, rows * 90 + random.nextInt(5000), rows, found, 0, rows - 1, 0,
        Collections.emptyList(), null, source, columns, null, null, null);
  }

  private BinaryArray nullCounts(long of) {
    Long[] counts = new Long[types.length];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = i < 2 ? 0 : (i * 7 + (of & 31)) % 50;
    }
    return BinaryArray.fromLongArray(counts);
  }

  /** Lower bounds, or with {@code upper} of 1 upper ones. */
  private BinaryRow bounds(String day, long[] base, int upper) {
    BinaryRow row = new BinaryRow(types.length);
    BinaryRowWriter writer = new BinaryRowWriter(row, types.length * 12);
    for (int i = 0; i < types.length; i++) {
      long value = base[i] + upper * (1000 + (base[i] & 0xffff));
      switch (types[i].getTypeRoot()) {
        case INTEGER -> writer.writeInt(i, (int) (value % 1_000_000_000));
        case BIGINT -> writer.writeLong(i, value);
        case VARCHAR ->
            writer.writeString(i, BinaryString.fromString(i == 0 ? day : String.format("%012x-cus", value)));
        case DOUBLE -> writer.writeDouble(i, value / 97.0);
        case TIMESTAMP_WITHOUT_TIME_ZONE -> {
          long micros = 1_600_000_000_000_000L + value * 1000 + base[i] % 1000;
          writer.writeTimestamp(i, Timestamp.fromMicros(micros), 6);
        }
        case DECIMAL -> {
          DecimalType type = (DecimalType) types[i];
          BigDecimal found = BigDecimal.valueOf(value, type.getScale());
          Decimal decimal = Decimal.fromBigDecimal(found, type.getPrecision(), type.getScale());
          writer.writeDecimal(i, decimal, type.getPrecision());
        }
        case DATE -> writer.writeInt(i, (int) (18_000 + Math.floorMod(base[i], 2000) + upper * 3));
        case BOOLEAN -> writer.writeBoolean(i, upper == 1);
        default -> throw new IllegalStateException(types[i].toString());
      }
    }
    writer.complete();
    return row;
  }
}
