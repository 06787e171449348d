import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.operation.LocalOrphanFilesClean;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.TableCommitImpl;

/**
 * Times what Paimon's procedures call: PaimonJobs TABLE TASK KEPT, with the snapshots that an expiry keeps.
 *
 * <p>One line of answer when it is ready, then one per line of input: {"seconds", "rows", "found", "processor"}. What
 * commits or deletes does so to a copy of the metadata, which takes no part in the seconds; the data files are not in it.
 */
public class PaimonJobs {
  private static final List<String> METADATA = List.of("snapshot", "manifest", "schema");

  public static void main(String[] arguments) throws Exception {
    Path root = Path.of(arguments[0]);
    System.out.println("{}");
    while (System.in.read() != -1) {
      boolean alone = !arguments[1].equals("paimon_orphans");
      Path table = alone ? copied(root) : root;
      long found;
      double seconds;
      try {
        long start = System.nanoTime();
        found = run(table, arguments[1], arguments[2]);
        seconds = (System.nanoTime() - start) / 1e9;
      } finally {
        if (alone) {
          remove(table);
        }
      }
      System.out.printf("{\"seconds\": %.6f, \"rows\": null, \"found\": %d, \"processor\": 0}%n", seconds, found);
      System.out.flush();
    }
    System.exit(0);
  }

  private static long run(Path root, String task, String kept) throws Exception {
    var path = new org.apache.paimon.fs.Path(root.toUri());
    FileStoreTable table = FileStoreTableFactory.create(LocalFileIO.create(), path);
    switch (task) {
      case "paimon_orphans" -> {
        // Nothing is deleted.
        return new LocalOrphanFilesClean(table, System.currentTimeMillis(), true).clean().getDeletedFilesPath().size();
      }
      case "paimon_expire_plan" -> {
        FileStoreTable rules = table.copy(Map.of("snapshot.time-retained", "0 ms",
            "snapshot.num-retained.min", kept, "snapshot.num-retained.max", kept));
        return rules.newExpireSnapshots().config(rules.coreOptions().expireConfig()).expire();
      }
      case "paimon_compact_manifests" -> {
        try (TableCommitImpl commit = table.newCommit(UUID.randomUUID().toString())) {
          commit.compactManifests();
        }
        var after = table.snapshotManager().latestSnapshot();
        return table.store().manifestListFactory().create()
            .read(after.baseManifestList(), after.baseManifestListSize()).size();
      }
      default -> throw new IllegalArgumentException(task);
    }
  }

  private static Path copied(Path root) throws IOException {
    Path copy = root.resolveSibling(root.getFileName() + "-copy-" + ProcessHandle.current().pid());
    for (String folder : METADATA) {
      Files.createDirectories(copy.resolve(folder));
      try (Stream<Path> files = Files.list(root.resolve(folder))) {
        for (Path file : (Iterable<Path>) files::iterator) {
          Path to = copy.resolve(folder).resolve(file.getFileName());
          // Hints of snapshots are written in place, which links would hand on to the table.
          if (folder.equals("manifest")) {
            Files.createLink(to, file);
          } else {
            Files.copy(file, to);
          }
        }
      }
    }
    return copy;
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
        Files.delete(file);
      }
    }
  }
}
