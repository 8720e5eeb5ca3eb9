// Validates the files of one GBFS system: java -cp <validator> GbfsCheck.java <folder>
// Prints one line for each error and exits with 1 if there is any.

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.entur.gbfs.validation.GbfsValidatorFactory;

public class GbfsCheck {
    public static void main(String[] arguments) throws Exception {
        Map<String, InputStream> files = new HashMap<>();
        try (var folder = Files.list(Path.of(arguments[0]))) {
            for (Path path : (Iterable<Path>) folder::iterator) {
                String name = path.getFileName().toString().replace(".json", "");
                files.put(name, new ByteArrayInputStream(Files.readAllBytes(path)));
            }
        }
        var result = GbfsValidatorFactory.getGbfsJsonValidator().validate(files);
        result.files().forEach((name, file) -> file.errors().forEach(error ->
            System.out.println(name + " " + error.violationPath() + ": " + error.message())));
        System.exit(result.summary().errorsCount() == 0 ? 0 : 1);
    }
}
