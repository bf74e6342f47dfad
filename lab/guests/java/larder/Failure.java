package larder;

import java.io.IOException;
import java.net.SocketTimeoutException;
import java.util.Map;
import java.util.concurrent.TimeoutException;

/** A failure, with a kind that is counted and a text of one line. */
final class Failure extends Exception {
    private static final long serialVersionUID = 1;

    private final String kind;

    /** A failure without a stack trace, which would cost time in the measured loop and is never shown. */
    Failure(String kind, String text) {
        super(oneLine(text), null, false, false);
        this.kind = kind;
    }

    /** The failure of a caught exception: a failure as it is, any other by its first cause that tells a kind. */
    static Failure of(Throwable caught) {
        if (caught instanceof Failure failure) {
            return failure;
        }
        if (caught instanceof OutOfMemoryError) {
            long heap = Runtime.getRuntime().maxMemory();
            return new Failure("other", "the heap of " + heap + " bytes is full: " + caught.getMessage());
        }
        for (Throwable cause = caught; cause != null; cause = cause.getCause()) {
            String kind = kindOf(cause);
            if (kind != null) {
                return new Failure(kind, textOf(cause));
            }
        }
        return new Failure("other", textOf(caught));
    }

    String kind() {
        return kind;
    }

    String text() {
        return getMessage();
    }

    /** The failure as an answer to a command. */
    Map<String, Object> answer() {
        return Map.of("error", text(), "kind", kind);
    }

    private static String kindOf(Throwable cause) {
        if (cause instanceof Failure failure) {
            return failure.kind;
        }
        if (cause instanceof TimeoutException || cause instanceof SocketTimeoutException) {
            return "timeout";
        }
        return cause instanceof IOException ? "io" : null;
    }

    private static String textOf(Throwable caught) {
        String message = caught.getMessage();
        boolean tells = message != null && !message.isBlank();
        return tells ? message : caught.getClass().getSimpleName();
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s+", " ");
    }
}
