import java.util.List;
import java.util.UUID;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.FileStoreTableFactory;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;

/** Appends a file at a time to a table, {@code BenchAppend TABLE COUNT}: a line of milliseconds for each. */
public final class BenchAppend {
    public static void main(String[] arguments) throws Exception {
        Path root = new Path(java.nio.file.Path.of(arguments[0]).toUri());
        FileStoreTable table = FileStoreTableFactory.create(LocalFileIO.create(), root);
        // A file like that of the first commit, under other names.
        ManifestEntry like = table.store().newScan().withSnapshot(1).plan().files().get(0);
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            DataIncrement added =
                    new DataIncrement(List.of(like.file().rename("data-" + UUID.randomUUID() + ".parquet")), List.of(), List.of());
            CommitMessageImpl message = new CommitMessageImpl(
                    like.partition(), like.bucket(), like.totalBuckets(), added, CompactIncrement.emptyIncrement());
            long begun = System.nanoTime();
            try (TableCommitImpl commit = table.newCommit(UUID.randomUUID().toString())) {
                commit.commit(List.of(message));
            }
            System.out.println((System.nanoTime() - begun) / 1e6);
        }
    }
}
