import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.SeekableByteArrayInput;
import org.apache.avro.generic.GenericDatumReader;

/** Reads Avro files with Avro's Java library; it speaks as serve.py does. */
final class AvroReader {
    public static void main(String[] args) throws IOException {
        DataInputStream requests = new DataInputStream(System.in);
        PrintStream answers = System.out;
        answers.println("{\"version\": \"" + DataFileReader.class.getPackage().getImplementationVersion() + "\"}");
        while (true) {
            byte[] content;
            try {
                content = new byte[requests.readInt()];
            } catch (EOFException ended) {
                return;
            }
            requests.readFully(content);
            answers.println(answer(content));
            answers.flush();
        }
    }

    private static String answer(byte[] content) {
        try {
            return "{\"rows\": " + rows(content) + ", \"peak\": 0}";
        } catch (Throwable error) {
            return "{\"error\": \"" + error.getClass().getSimpleName() + "\", \"peak\": 0}";
        }
    }

    private static int rows(byte[] content) throws IOException {
        int count = 0;
        try (var file = new DataFileReader<>(new SeekableByteArrayInput(content), new GenericDatumReader<>())) {
            for (; file.hasNext(); count++) {
                file.next();
            }
        }
        return count;
    }
}
