import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.CloseableIterable;

/**
 * Times Iceberg's planFiles: IcebergPlan METADATA_FILE TASK THREADS.
 *
 * <p>One line of answer when the table is open, then one per line of input: {"seconds", "rows"}. Before the first
 * of those it plans WARM_UPS times, until its code is compiled.
 */
public class IcebergPlan {
  private static final int WARM_UPS = 5;

  private static final Map<String, Expression> FILTERS = Map.of(
      "all", Expressions.alwaysTrue(),
      "partition", Expressions.and(
          Expressions.equal("region", "region-007"),
          Expressions.and(
              Expressions.greaterThanOrEqual("event_ts", "2024-10-08T00:00:00+00:00"),
              Expressions.lessThan("event_ts", "2024-10-09T00:00:00+00:00"))),
      "range", Expressions.equal("id", 123450001L));

  public static void main(String[] arguments) throws Exception {
    HadoopFileIO io = new HadoopFileIO(new Configuration());
    BaseTable table = new BaseTable(new StaticTableOperations(arguments[0], io), "bench");
    Expression filter = FILTERS.get(arguments[1]);
    ExecutorService pool = Executors.newFixedThreadPool(Integer.parseInt(arguments[2]));
    System.out.println("{}");
    boolean warm = false;
    while (System.in.read() != -1) {
      for (int run = 0; !warm && run < WARM_UPS; run++) {
        plan(table, filter, pool);
      }
      warm = true;
      long start = System.nanoTime();
      long[] found = plan(table, filter, pool);
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf("{\"seconds\": %.6f, \"rows\": %d, \"deletes\": %d}%n", seconds, found[0], found[1]);
      System.out.flush();
    }
    pool.shutdown();
  }

  /** The tasks of a plan, and the deletes attached to them in all. */
  private static long[] plan(BaseTable table, Expression filter, ExecutorService pool) throws Exception {
    TableScan scan = table.newScan().filter(filter).planWith(pool);
    long[] found = {0, 0};
    try (CloseableIterable<FileScanTask> tasks = scan.planFiles()) {
      for (FileScanTask task : tasks) {
        found[0]++;
        found[1] += task.deletes().size();
      }
    }
    return found;
  }
}
