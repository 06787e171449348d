import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.paimon.rest.RESTCatalogServer;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.responses.ConfigResponse;

/**
 * Paimon's REST catalog, for as long as there is input. A request per line of input, its answer per line of output, both
 * JSON, as in PaimonEngine.java. {"op": "serve", "folder": "/…", "token": "…"} starts it over a folder; the answer is its
 * address.
 */
public final class PaimonRestEngine {
    private static final String WAREHOUSE = "lake";

    public static void main(String[] args) throws Exception {
        ObjectMapper json = new ObjectMapper();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        RESTCatalogServer server = null;
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            JsonNode request = json.readTree(line);
            String token = request.get("token").asText();
            ConfigResponse defaults =
                    new ConfigResponse(Map.of("prefix", "paimon", "warehouse", WAREHOUSE, "token.provider", "bear"), Map.of());
            server = new RESTCatalogServer(
                    "file://" + request.get("folder").asText(), new BearTokenAuthProvider(token), defaults, WAREHOUSE);
            server.start();
            System.out.println(json.writeValueAsString(Map.of("answer", server.getUrl())));
        }
        if (server != null) {
            server.shutdown();
        }
        System.exit(0);
    }
}
