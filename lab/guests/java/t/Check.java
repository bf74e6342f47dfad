package larder;

import java.util.Objects;

/** The frame of this program's tests: each test class is a `main` that prints its results. */
final class Check {
    private static int failed;

    /** A test, which may throw. */
    interface Test {
        void run() throws Exception;
    }

    private Check() {}

    static void that(String sentence, Test test) {
        try {
            test.run();
            System.out.println("ok - " + sentence);
        } catch (Exception | AssertionError e) {
            failed++;
            System.out.println("not ok - " + sentence);
            e.printStackTrace(System.out);
        }
    }

    static void equal(Object found, Object expected, String what) {
        if (!Objects.equals(String.valueOf(found), String.valueOf(expected))) {
            throw new AssertionError(what + ": " + found + ", not " + expected);
        }
    }

    static void is(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }

    /** Ends the program, with a failure if there was one. */
    static void end() {
        System.exit(failed == 0 ? 0 : 1);
    }
}
