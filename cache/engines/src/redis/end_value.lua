-- Ends the entry of KEYS[1] if its value is the last argument: removes it or, with an argument before that, makes it stale and
-- keeps it for so many milliseconds at most. 0 where the key has another value, or a stale one, or none.
local value = ARGV[#ARGV]
if redis.pcall('GET', KEYS[1]) ~= value then return 0 end
local left, keep = redis.call('PTTL', KEYS[1]), #ARGV > 1 and ARGV[1]
redis.call('DEL', KEYS[1])
if keep then
  redis.call('HSET', KEYS[1], 'larder', '1', 'v', value)
  if left >= 0 and left < tonumber(keep) then keep = string.format('%.0f', left) end
  redis.call('PEXPIRE', KEYS[1], keep)
end
return 1
