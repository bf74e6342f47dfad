# frozen_string_literal: true

# Uses a shared cache until its input ends; run.py says what each worker does.

require 'io/wait'
require 'larder'
require 'zlib'

url, seed = ARGV
draw = Random.new(seed.to_i)
$stdout.sync = true
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }
cache = Larder.open(url)
calls = hits = busy = 0
slowest = 0.0
told = now.call
loop do
  key = "key:#{draw.rand(1000)}"
  part = draw.rand
  began = now.call
  begin
    if part < 0.6
      value = cache.get(key)
      if value
        hits += 1
        payload, _, sum = value.rpartition(':')
        abort "wrong value of #{key}: #{value[0, 60]}" if sum != format('%08x', Zlib.crc32(key + payload))
      end
    elsif part < 0.9
      payload = ('a'.ord + draw.rand(10)).chr * draw.rand(2000)
      cache.set(key, format('%s:%08x', payload, Zlib.crc32(key + payload)).b)
    elsif part < 0.95
      cache.delete(key)
    elsif cache.incr("number:#{draw.rand(10)}", 1, initial: 1) < 1
      abort 'a number below 1'
    end
  rescue Larder::Error => e
    raise if e.kind.to_s != 'busy'

    busy += 1
  end
  after = now.call
  slowest = [slowest, after - began].max
  calls += 1
  next if after - told < 0.2

  puts "#{calls} #{hits} #{(1000 * slowest).to_i} #{busy}"
  break if $stdin.wait_readable(0)

  told = after
end
cache.close
