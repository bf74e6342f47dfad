-- Makes the entry of KEYS[1] stale, ends its lease, and keeps it for ARGV[1] milliseconds at most, if they are given; 0
-- where there is no entry.
local value = redis.pcall('GET', KEYS[1])
if not value then return 0 end
local is_fresh = type(value) == 'string'
if not is_fresh then
  local found = kept()
  if not found then return value end
  if not found.value then
    redis.call('DEL', KEYS[1])
    return 0
  end
end
local left, keep = redis.call('PTTL', KEYS[1]), ARGV[1]
local is_shorter = keep and (left < 0 or tonumber(keep) < left)
if is_fresh then
  -- The DEL comes first: full memory then refuses nothing of this script.
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'larder', '1', 'v', value)
  -- A number that Lua turns into text itself may get an exponent.
  if left >= 0 and not is_shorter then
    redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left))
  end
else
  redis.call('HDEL', KEYS[1], 'l', 'u')
end
if is_shorter then redis.call('PEXPIRE', KEYS[1], keep) end
return 1
