import java.nio.file.Path;
import java.util.List;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;

/**
 * Paimon's own Java as a reader of the benchmark: PaimonReader WARM_UPS TABLE paimon TASK, or WARM_UPS --version.
 * With warm-ups it has done the task as often before the run that it tells of.
 */
public final class PaimonReader {
  private PaimonReader() {}

  public static void main(String[] arguments) throws Exception {
    String jar = Path.of(FileStoreTable.class.getProtectionDomain().getCodeSource().getLocation().toURI())
        .getFileName().toString();
    Protocol.serve(arguments, "paimon", jar.replaceAll("^paimon-bundle-|\\.jar$", ""), PaimonReader::answer);
  }

  private static String answer(String path, String task) {
    org.apache.paimon.fs.Path root = new org.apache.paimon.fs.Path(Path.of(path).toUri());
    FileStoreTable table = FileStoreTableFactory.create(LocalFileIO.create(), root);
    if (task.equals("files")) {
      return files(table);
    }
    ReadBuilder builder = table.newReadBuilder();
    PredicateBuilder predicates = new PredicateBuilder(table.rowType());
    switch (task) {
      case "partition" -> builder.withFilter(predicates.equal(1, BinaryString.fromString("region-007")));
      case "bounds" -> builder.withFilter(predicates.lessThan(0, 10_000_000_000L));
      case "first" -> builder.withLimit(1);
      default -> { }
    }
    List<Split> splits = builder.newScan().plan().splits();
    if (task.equals("first")) {
      ((DataSplit) splits.get(0)).dataFiles().get(0);
      return "\"files\": 1";
    }
    long files = 0;
    long rows = 0;
    long bytes = 0;
    for (Split split : splits) {
      for (DataFileMeta file : ((DataSplit) split).dataFiles()) {
        files++;
        rows += file.rowCount();
        bytes += file.fileSize();
      }
    }
    return "\"files\": %d, \"rows\": %d, \"bytes\": %d, \"deletes\": 0".formatted(files, rows, bytes);
  }

  /** All live files with the statistics of their values. */
  private static String files(FileStoreTable table) {
    long[] sums = new long[5];
    for (ManifestEntry entry : table.store().newScan().plan().files()) {
      DataFileMeta file = entry.file();
      sums[0]++;
      sums[1] += file.rowCount();
      sums[2] += file.fileSize();
      InternalArray nulls = file.valueStats().nullCounts();
      for (int column = 0; column < nulls.size(); column++) {
        sums[3] += nulls.getLong(column);
      }
      sums[4] += file.valueStats().minValues().getLong(0);
    }
    return "\"files\": %d, \"rows\": %d, \"bytes\": %d, \"nulls\": %d, \"lowest\": %d"
        .formatted(sums[0], sums[1], sums[2], sums[3], sums[4]);
  }
}
