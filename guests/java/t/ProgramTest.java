package larder;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** The program as Larder starts it. */
final class ProgramTest {
    private ProgramTest() {}

    public static void main(String[] arguments) {
        Check.that("it opens a cache, answers commands and ends when it is told to", () -> {
            Process program = start("null");
            InputStream answers = program.getInputStream();
            Check.is(line(answers).contains("\"cache\":\"null\""), "it says what it has opened");
            tell(program, "set 1 3 -\nkabc");
            Check.equal(line(answers), "{\"stored\":true}", "set");
            tell(program, "get 1\nk");
            Check.equal(line(answers), "{\"found\":3}", "get");
            Check.equal(new String(answers.readNBytes(3), StandardCharsets.UTF_8), "abc", "the value");
            tell(program, "dance\n");
            Check.is(line(answers).contains("no command of this guest: dance"), "what it does not know it says");
            tell(program, "end\n");
            Check.is(program.waitFor(20, TimeUnit.SECONDS), "it ends");
            Check.equal(program.exitValue(), 0, "its exit code");
        });
        Check.that("the end of its input ends it, whatever it does", () -> {
            Process program = start("null");
            line(program.getInputStream());
            TestPlan plan = new TestPlan("a");
            int value = plan.value(0, 100);
            plan.replays = true;
            plan.phase(
                    java.util.Map.of("operations", java.util.List.of("set"), "time_limit_s", 600, "again", true),
                    new int[] {1, 0, value});
            plan.read();
            tell(program, "load " + plan.folder + "\n");
            Check.equal(line(program.getInputStream()), "{\"loaded\":true}", "load");
            tell(program, "run 0\n");
            Check.is(line(program.getInputStream()).startsWith("{\"alive\":"), "it is alive");
            program.getOutputStream().close();
            Check.is(program.waitFor(20, TimeUnit.SECONDS), "it ends");
        });
        Check.that("what it cannot open it says", () -> {
            Process program = start("nothing");
            String said = line(program.getInputStream());
            Check.equal(said, "{\"unavailable\":\"no cache of this guest: nothing\"}", "answer");
            Check.equal(program.waitFor(), 0, "its exit code");
        });
        Check.end();
    }

    private static Process start(String cache) throws Exception {
        Path folder = Files.createTempDirectory("larder-java-test");
        Files.writeString(
                folder.resolve("open.json"),
                "{\"protocol\": 2, \"cache\": \"" + cache + "\", \"options\": {}, \"servers\": []}");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        return new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "larder.Main", folder.toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static void tell(Process program, String text) throws Exception {
        OutputStream commands = program.getOutputStream();
        commands.write(text.getBytes(StandardCharsets.UTF_8));
        commands.flush();
    }

    private static String line(InputStream answers) throws Exception {
        StringBuilder line = new StringBuilder();
        for (int next = answers.read(); next >= 0 && next != '\n'; next = answers.read()) {
            line.append((char) next);
        }
        return line.toString();
    }
}
