package larder;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** The program as Larder starts it. */
final class ProgramTest {
    private ProgramTest() {}

    public static void main(String[] arguments) {
        Check.that("a cache that cannot be opened is reported", () -> {
            Process program = start("nothing");
            String said = line(program.getInputStream());
            Check.equal(said, "{\"unavailable\":\"unknown cache: nothing\"}", "answer");
            Check.equal(program.waitFor(), 0, "its exit code");
        });
        Check.end();
    }

    private static Process start(String cache) throws Exception {
        Path folder = Files.createTempDirectory("larder-java-test");
        Files.writeString(
                folder.resolve("open.json"),
                "{\"protocol\": 3, \"cache\": \"" + cache + "\", \"options\": {}, \"servers\": []}");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        return new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "larder.Main", folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static String line(InputStream answers) throws Exception {
        StringBuilder line = new StringBuilder();
        for (int next = answers.read(); next >= 0 && next != '\n'; next = answers.read()) {
            line.append((char) next);
        }
        return line.toString();
    }
}
