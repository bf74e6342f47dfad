package larder;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Path;

/**
 * A guest of Larder: opens one of Java's caches, runs a plan on it, times itself. docs/guests.md describes the commands
 * and answers.
 */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 1) {
            System.err.println("usage: java larder.Main FOLDER, with commands on standard input");
            System.exit(2);
        }
        // Standard output carries answers and nothing else, so the output of libraries goes to standard error.
        var answers = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        // SLF4J, which some clients bring, would complain there that nobody takes its messages.
        System.setProperty("slf4j.internal.verbosity", "ERROR");
        Protocol protocol = new Protocol(new FileInputStream(FileDescriptor.in), answers);
        Guest guest = Guest.open(protocol, Path.of(arguments[0]));
        if (guest != null) {
            guest.serve();
        }
        // A client may have left threads, which would keep the program running.
        System.exit(0);
    }
}
