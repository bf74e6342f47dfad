# frozen_string_literal: true

require "monitor"

module ActiveSupport
  module Cache
    class LarderStore < Store
      # The open store of a URL, which all caches of this process share.
      class Opened
        # The form of values: an entry is bytes already. What another program has stored in a form of its own is a miss.
        module AsItIs
          def self.load(_bytes, _flags)
            nil
          end

          def self.dump(value)
            raise TypeError, "an entry is a #{value.class}; ActiveSupport's coder makes a String of it"
          end
        end
        private_constant :AsItIs

        @all = {}
        @lock = Monitor.new

        # The one of a URL.
        def self.of(url)
          @lock.synchronize { @all[url] ||= new(url) }
        end

        def initialize(url)
          @url = url
          @opening = Mutex.new
          @store = nil
          @takes_bytes = false
          begin
            store
          rescue Larder::UnavailableError
            # An application starts without its cache, too.
            nil
          end
        end
        private_class_method :new

        # The open store. Where its server did not answer before, one thread at a time asks it again, and the others do not wait
        # for that.
        def store
          @store || open
        end

        # Gives the block a raw value in a form that the store takes: Redis keeps no flags, and so takes bytes only.
        def storing(value)
          yield(@takes_bytes ? value.to_s.b : value)
        rescue Larder::UnsupportedError
          raise if @takes_bytes

          @takes_bytes = true
          retry
        end

        # The URL, its password masked.
        def url
          @store ? @store.url : @url[/\A[^:]*:/]
        end

        private

        def open
          # A thread that is ended between the lock and its block would keep the lock, so the block has both.
          is_mine = false
          begin
            is_mine = @opening.try_lock
            raise Larder::UnavailableError.new("another thread opens the store", kind: :unavailable) unless is_mine

            @store ||= Larder.open(@url, serializer: AsItIs)
          ensure
            @opening.unlock if is_mine
          end
        end
      end
      private_constant :Opened
    end
  end
end
