-- Ends the entry of KEYS[1] if its value is ARGV[1]: removes it or, with ARGV[2], makes it stale and keeps it for so many
-- milliseconds at most. 0 where the key has another value, or a stale one, or none.
if redis.pcall('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local left, keep = redis.call('PTTL', KEYS[1]), ARGV[2]
redis.call('DEL', KEYS[1])
if keep then
  redis.call('HSET', KEYS[1], 'larder', '1', 'v', ARGV[1])
  if left >= 0 and left < tonumber(keep) then keep = string.format('%.0f', left) end
  redis.call('PEXPIRE', KEYS[1], keep)
end
return 1
