import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.IcebergBuild;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.CloseableIterable;

/**
 * Iceberg's own Java as a reader of the benchmark: IcebergReader WARM_UPS METADATA_FILE iceberg TASK, or WARM_UPS
 * --version. With warm-ups it has done the task as often before the run that it tells of.
 */
public final class IcebergReader {
  private IcebergReader() {}

  public static void main(String[] arguments) throws Exception {
    Protocol.serve(arguments, "iceberg", IcebergBuild.version(), IcebergReader::answer);
  }

  private static String answer(String path, String task) throws Exception {
    HadoopFileIO io = new HadoopFileIO(new Configuration());
    BaseTable table = new BaseTable(new StaticTableOperations(path, io), "planning");
    if (task.equals("files")) {
      return files(table);
    }
    TableScan scan = switch (task) {
      case "partition" -> table.newScan().filter(Expressions.equal("region", "region-007"));
      case "bounds" -> table.newScan().filter(Expressions.lessThan("id", 10_000_000_000L));
      default -> table.newScan();
    };
    long files = 0;
    long rows = 0;
    long bytes = 0;
    long deletes = 0;
    try (CloseableIterable<FileScanTask> tasks = scan.planFiles()) {
      Iterator<FileScanTask> each = tasks.iterator();
      if (task.equals("first")) {
        each.next();
        return "\"files\": 1";
      }
      while (each.hasNext()) {
        FileScanTask one = each.next();
        files++;
        rows += one.file().recordCount();
        bytes += one.file().fileSizeInBytes();
        deletes += one.deletes().size();
      }
    }
    return "\"files\": %d, \"rows\": %d, \"bytes\": %d, \"deletes\": %d".formatted(files, rows, bytes, deletes);
  }

  /** All live data files with their metrics, manifests side by side. */
  private static String files(BaseTable table) {
    List<ManifestFile> manifests = table.currentSnapshot().dataManifests(table.io());
    long[] sums = manifests.parallelStream().map(manifest -> sums(table, manifest)).reduce(
        new long[5],
        (one, other) -> LongStream.range(0, 5).map(i -> one[(int) i] + other[(int) i]).toArray());
    return "\"files\": %d, \"rows\": %d, \"bytes\": %d, \"nulls\": %d, \"lowest\": %d"
        .formatted(sums[0], sums[1], sums[2], sums[3], sums[4]);
  }

  private static long[] sums(BaseTable table, ManifestFile manifest) {
    long[] sums = new long[5];
    try (ManifestReader<DataFile> files = ManifestFiles.read(manifest, table.io(), table.specs())) {
      for (DataFile file : files) {
        sums[0]++;
        sums[1] += file.recordCount();
        sums[2] += file.fileSizeInBytes();
        for (Map.Entry<Integer, Long> nulls : file.nullValueCounts().entrySet()) {
          sums[3] += nulls.getValue();
        }
        ByteBuffer lowest = file.lowerBounds().get(1).duplicate().order(ByteOrder.LITTLE_ENDIAN);
        sums[4] += lowest.getLong(lowest.position());
      }
    } catch (java.io.IOException failed) {
      throw new java.io.UncheckedIOException(failed);
    }
    return sums;
  }
}
