# frozen_string_literal: true

require "etc"

module LarderGuest
  # User and system time between `start` and `stop`, and memory.
  class Usage
    PAGE_BYTES = Etc.sysconf(Etc::SC_PAGESIZE)

    # Resident memory now.
    def self.rss_bytes = File.read("/proc/self/statm").split[1].to_i * PAGE_BYTES

    def initialize
      @user_s = @system_s = 0.0
    end

    def start
      now = Process.times
      @user_s -= now.utime
      @system_s -= now.stime
    end

    def stop
      now = Process.times
      @user_s += now.utime
      @system_s += now.stime
    end

    # User and system time in nanoseconds.
    def cpu_ns = [@user_s, @system_s].map { |seconds| [0, (seconds * 1e9).round].max }
  end
end
