// Validates a GTFS archive: java -cp <validator> GtfsCheck.java <folder for reports> <archive>
// Prints one line for each kind of error and exits with 1 if there is any.

import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import org.mobilitydata.gtfsvalidator.input.CountryCode;
import org.mobilitydata.gtfsvalidator.runner.ApplicationType;
import org.mobilitydata.gtfsvalidator.runner.ValidationRunner;
import org.mobilitydata.gtfsvalidator.runner.ValidationRunnerConfig;
import org.mobilitydata.gtfsvalidator.util.VersionResolver;

public class GtfsCheck {
    public static void main(String[] arguments) throws Exception {
        Path archive = Path.of(arguments[1]);
        Path output = Path.of(arguments[0]).resolve(archive.getFileName().toString());
        var config = ValidationRunnerConfig.builder()
            .setGtfsSource(archive.toUri())
            .setOutputDirectory(output)
            .setCountryCode(CountryCode.forStringOrUnknown(CountryCode.ZZ))
            .setSkipValidatorUpdate(true)
            .build();
        var status = new ValidationRunner(new VersionResolver(ApplicationType.CLI)).run(config);
        if (status != ValidationRunner.Status.SUCCESS) {
            System.out.println(status);
            System.exit(1);
        }
        var report = JsonParser.parseString(Files.readString(output.resolve(config.validationReportFileName())));
        int errors = 0;
        for (var element : report.getAsJsonObject().getAsJsonArray("notices")) {
            var notice = element.getAsJsonObject();
            if (notice.get("severity").getAsString().equals("ERROR")) {
                errors += 1;
                var sample = notice.getAsJsonArray("sampleNotices").get(0);
                System.out.println(notice.get("totalNotices") + " " + notice.get("code").getAsString() + ": " + sample);
            }
        }
        System.exit(errors == 0 ? 0 : 1);
    }
}
