# frozen_string_literal: true

require "json"
require_relative "caches"
require_relative "failure"
require_relative "phase"
require_relative "plan"
require_relative "processes"

module LarderGuest
  # Opens the cache, and carries out the commands.
  class Guest
    PROTOCOL = 3
    ALIVE_S = 1

    # Opens the cache of open.json in this folder and greets; nil if the cache is unavailable.
    def self.open_cache(protocol, folder)
      order = JSON.parse(File.binread("#{folder}/open.json"))
      if order["protocol"] != PROTOCOL
        raise Failure.new("protocol", "this guest speaks protocol #{PROTOCOL}, not #{order["protocol"]}")
      end

      cache = Caches.open(order)
      greeting = { protocol: PROTOCOL, language: "ruby #{RUBY_VERSION}", cache: cache.title }
      protocol.answer({ **greeting, settings: cache.settings.merge(own_settings) })
      new(protocol, cache)
    rescue StandardError, LoadError => e
      protocol.answer({ unavailable: Failure.of(e).message })
      nil
    end

    # The settings of Ruby itself that change its times.
    def self.own_settings
      just_in_time = [["yjit", "YJIT"], ["mjit", "MJIT"]].find do |_, name|
        RubyVM.const_defined?(name) && RubyVM.const_get(name).enabled?
      end
      { "jit" => just_in_time ? just_in_time.first : "off" }
    end

    def initialize(protocol, cache)
      @protocol = protocol
      @cache = cache
      @plan = nil
    end

    # Answers commands until there are no more.
    def serve
      while (line = @protocol.line) && line != "end"
        name, rest = line.split(" ", 2)
        begin
          command(name, rest.to_s, line)
        rescue StandardError => e
          @protocol.answer(@cache.failure(e).answer)
        end
      end
    end

    private

    def command(name, rest, line)
      case name
      when "set" then set(*rest.split)
      when "get" then get(key(rest))
      when "delete" then delete(key(rest))
      when "touch" then touch(*rest.split)
      when "load" then load(rest)
      when "run" then run(Integer(rest))
      else raise Failure.new("protocol", "unknown command: #{line}")
      end
    end

    # A key is text, as in a plan.
    def key(length) = @protocol.bytes(Integer(length)).force_encoding(Encoding::UTF_8)

    def set(key_length, value_length, ttl)
      key = key(key_length)
      value = @protocol.bytes(Integer(value_length))
      seconds = seconds(ttl)
      @cache.expect_ttl(seconds)
      stored = @cache.set(key, value, @cache.ttl_argument(seconds))
      return @protocol.answer({ stored: true }) if stored

      @protocol.answer({ stored: false, why: @cache.refusal(key, value, stored).message })
    end

    def get(key)
      value = @cache.get(key)
      if value.nil?
        doubt(key)
        @protocol.answer({ found: nil })
      else
        @protocol.answer({ found: value.bytesize }, value)
      end
    end

    def delete(key) = found(key, @cache.delete(key))

    def touch(length, ttl)
      key = key(length)
      found(key, @cache.touch(key, @cache.ttl_argument(seconds(ttl))))
    end

    def found(key, found)
      doubt(key) unless found
      @protocol.answer({ found: found ? true : false })
    end

    # Raises the failure that a miss was in truth, if any.
    def doubt(key)
      failure = @cache.doubts? ? @cache.failure_of_miss(key) : nil
      raise failure if failure
    end

    def load(folder)
      # The last plan is freed first, for there may not be room for two.
      @plan = nil
      @plan = Plan.new(folder)
      @cache.expect_ttl(@plan.ttl_s)
      # The garbage collector runs on, because a client's garbage is the client's cost. The plan is old from now on.
      3.times { GC.start }
      @protocol.answer({ loaded: true, **evictions })
    end

    def run(number)
      raise Failure.new("protocol", "no plan has been loaded") if @plan.nil?
      raise Failure.new("protocol", "the plan has no phase #{number}") if number >= @plan.phases.length

      tell = teller
      if @plan.processes > 1
        Processes.new(@protocol, @plan, @cache, number).run(&tell)
      else
        Phase.new(@plan, @cache, number).run(&tell)
      end
      @protocol.answer({ ran: number, **evictions })
    end

    # The entries that the cache dropped to make room since the last call; empty where they are unknown.
    def evictions = { evictions: @cache.evictions }.compact

    # A function that reports the progress once a second, and ends the program once its input has ended.
    def teller
      told = now
      last = 0
      lambda do |operations|
        exit!(0) if @protocol.ended?
        # A guest that waits for idle processes does not count as alive.
        return if operations == last || now - told < ALIVE_S

        told = now
        last = operations
        @protocol.answer({ alive: operations })
      end
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def seconds(ttl) = ttl == "-" ? nil : Float(ttl)
  end
end
