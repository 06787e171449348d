import java.util.Map;
import org.apache.paimon.AppendOnlyFileStore;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.operation.AppendOnlyFileStoreScan;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;

/**
 * Times the plan of Paimon's FileStoreScan, before files are packed into splits: PaimonPlan TABLE TASK THREADS.
 *
 * <p>One line of answer when the table is open, then one per line of input: {"seconds", "rows"}. Before the first
 * of those it plans WARM_UPS times, until its code is compiled.
 */
public class PaimonPlan {
  private static final int WARM_UPS = 5;

  public static void main(String[] arguments) throws Exception {
    Path root = new Path(java.nio.file.Path.of(arguments[0]).toUri());
    FileStoreTable table = FileStoreTableFactory.create(LocalFileIO.create(), root)
        .copy(Map.of("scan.manifest.parallelism", arguments[2]));
    String task = arguments[1];
    System.out.println("{}");
    boolean warm = false;
    while (System.in.read() != -1) {
      for (int run = 0; !warm && run < WARM_UPS; run++) {
        plan(table, task);
      }
      warm = true;
      long start = System.nanoTime();
      int rows = plan(table, task);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf("{\"seconds\": %.6f, \"rows\": %d}%n", seconds, rows);
      System.out.flush();
    }
    System.exit(0);
  }

  /** The files of a plan; `paimon_readers.py` has the same filters. */
  private static int plan(FileStoreTable table, String task) {
    AppendOnlyFileStoreScan scan = ((AppendOnlyFileStore) table.store()).newScan();
    switch (task) {
      case "all" -> {}
      case "partition" -> scan.withPartitionFilter(
          new PredicateBuilder(table.schema().logicalPartitionType())
              .equal(0, BinaryString.fromString("2020-02-03")));
      case "range" -> scan.withFilter(
          new PredicateBuilder(table.rowType()).lessThan(table.rowType().getFieldIndex("id"), 100_000_000L));
      default -> throw new IllegalArgumentException(task);
    }
    return scan.plan().files().size();
  }
}
