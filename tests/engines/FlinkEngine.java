import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;

/**
 * Flink's SQL in one process, with Paimon's connector. A request per line of input, its answer per line of output, both
 * JSON, as in IcebergEngine.java. {"op": "sql", "statement": "…"} runs a statement, and the jobs that it starts, to their
 * end; the answer is null.
 */
public final class FlinkEngine {
    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        TableEnvironment flink = TableEnvironment.create(EnvironmentSettings.inBatchMode());
        flink.getConfig().set("table.dml-sync", "true");
        flink.getConfig().set("parallelism.default", "1");
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode request = json.readTree(line);
            String answer;
            try {
                TableResult result = flink.executeSql(request.get("statement").asText());
                result.await();
                answer = "{\"answer\": null}";
            } catch (Throwable thrown) {
                Throwable cause = thrown;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer = json.writeValueAsString(Map.of("error", cause.toString()));
            }
            answers.println(answer);
        }
        System.exit(0);
    }
}
