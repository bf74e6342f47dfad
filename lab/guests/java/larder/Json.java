package larder;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes the JSON of the protocol. Objects are maps, arrays lists; whole numbers are {@link Long}, other
 * numbers {@link Double}.
 */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        Json json = new Json(text);
        Object value = json.value();
        json.skipSpace();
        if (json.at < text.length()) {
            throw json.unexpected();
        }
        return value;
    }

    /** The JSON of a value in one line; no value here is long. */
    static String write(Object value) {
        StringBuilder line = new StringBuilder();
        write(value, line);
        return line.toString();
    }

    private Object value() {
        skipSpace();
        return switch (peek()) {
            case '{' -> object();
            case '[' -> array();
            case '"' -> string();
            case 't' -> word("true", Boolean.TRUE);
            case 'f' -> word("false", Boolean.FALSE);
            case 'n' -> word("null", null);
            default -> number();
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> object = new LinkedHashMap<>();
        at++;
        if (isNext('}')) {
            return object;
        }
        do {
            skipSpace();
            String name = string();
            expect(':');
            object.put(name, value());
        } while (isNext(','));
        expect('}');
        return object;
    }

    private List<Object> array() {
        List<Object> array = new ArrayList<>();
        at++;
        if (isNext(']')) {
            return array;
        }
        do {
            array.add(value());
        } while (isNext(','));
        expect(']');
        return array;
    }

    private String string() {
        expect('"');
        StringBuilder string = new StringBuilder();
        while (peek() != '"') {
            char letter = text.charAt(at++);
            string.append(letter == '\\' ? escaped() : letter);
        }
        at++;
        return string.toString();
    }

    private char escaped() {
        char letter = peek();
        at++;
        return switch (letter) {
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> {
                at += 4;
                yield (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            default -> letter;
        };
    }

    private Object number() {
        int from = at;
        while (at < text.length() && "+-.0123456789Ee".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
        String number = text.substring(from, at);
        if (number.isEmpty()) {
            throw unexpected();
        }
        return number.matches("-?\\d+") ? (Object) Long.valueOf(number) : Double.valueOf(number);
    }

    private Object word(String word, Object value) {
        if (!text.startsWith(word, at)) {
            throw unexpected();
        }
        at += word.length();
        return value;
    }

    private boolean isNext(char letter) {
        skipSpace();
        if (peek() != letter) {
            return false;
        }
        at++;
        return true;
    }

    private void expect(char letter) {
        if (!isNext(letter)) {
            throw unexpected();
        }
    }

    private char peek() {
        if (at >= text.length()) {
            throw unexpected();
        }
        return text.charAt(at);
    }

    private void skipSpace() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }

    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("this is not JSON from character " + at + " on");
    }

    private static void write(Object value, StringBuilder line) {
        if (value instanceof Map<?, ?> object) {
            String separator = "{";
            for (Map.Entry<?, ?> entry : object.entrySet()) {
                line.append(separator);
                quote(entry.getKey().toString(), line);
                line.append(':');
                write(entry.getValue(), line);
                separator = ",";
            }
            line.append(object.isEmpty() ? "{}" : "}");
        } else if (value instanceof Iterable<?> array) {
            line.append('[');
            String separator = "";
            for (Object element : array) {
                line.append(separator);
                write(element, line);
                separator = ",";
            }
            line.append(']');
        } else if (value instanceof CharSequence string) {
            quote(string.toString(), line);
        } else {
            line.append(value);
        }
    }

    private static void quote(String string, StringBuilder line) {
        line.append('"');
        for (int i = 0; i < string.length(); i++) {
            char letter = string.charAt(i);
            if (letter == '"' || letter == '\\') {
                line.append('\\').append(letter);
            } else if (letter < ' ' || letter > '~') {
                line.append(String.format("\\u%04x", (int) letter));
            } else {
                line.append(letter);
            }
        }
        line.append('"');
    }
}
