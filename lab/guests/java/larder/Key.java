package larder;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A key in both forms that clients take: its bytes, and their text, which is null where they are not UTF-8. */
record Key(byte[] bytes, String text) {
    /** No text has this half of a character alone, so names that begin with it are no other key's text. */
    private static final String NOT_TEXT = "\ud800";

    static Key of(byte[] bytes) {
        return new Key(bytes, textOf(bytes));
    }

    /** The text, for a client that takes nothing else. */
    String asText() throws Failure {
        if (text == null) {
            throw new Failure("key", "the client takes UTF-8 keys only, and this key is not UTF-8");
        }
        return text;
    }

    /** A text for caches whose keys are texts: that of the key, or else one that no other key has. */
    String asName() {
        return text != null ? text : NOT_TEXT + new String(bytes, StandardCharsets.ISO_8859_1);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Key key && Arrays.equals(bytes, key.bytes);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(bytes);
    }

    private static String textOf(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException e) {
            return null;
        }
    }
}
