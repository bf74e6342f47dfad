package larder;

import net.spy.memcached.compat.log.AbstractLogger;
import net.spy.memcached.compat.log.Level;

/** A logger of failures alone. It is public, for the client creates it by its name. */
public final class SpyLogger extends AbstractLogger {
    public SpyLogger(String name) {
        super(name);
    }

    @Override
    public boolean isDebugEnabled() {
        return false;
    }

    @Override
    public boolean isInfoEnabled() {
        return false;
    }

    @Override
    public boolean isTraceEnabled() {
        return false;
    }

    @Override
    public void log(Level level, Object message, Throwable caught) {
        if (level == Level.FATAL) {
            System.err.println(message);
        }
    }
}
