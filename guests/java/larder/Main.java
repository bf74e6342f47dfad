package larder;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Path;

/**
 * A guest of Larder: opens one of Java's caches, runs a plan on it, times itself. docs/guests.md says what is asked and
 * answered here.
 */
final class Main {
    private Main() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 1) {
            System.err.println("usage: java larder.Main FOLDER, with commands on standard input");
            System.exit(2);
        }
        // Standard output carries answers and nothing else; what a library prints goes where its complaints go.
        var answers = new FileOutputStream(FileDescriptor.out);
        System.setOut(System.err);
        Protocol protocol = new Protocol(new FileInputStream(FileDescriptor.in), answers);
        Guest guest = Guest.open(protocol, Path.of(arguments[0]));
        if (guest != null) {
            guest.serve();
        }
        // Whatever threads a client has left.
        System.exit(0);
    }
}
