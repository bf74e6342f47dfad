-- Puts the text ARGV[1] before an existing value; 0 where there is none.
local value = redis.pcall('GET', KEYS[1])
if not value then return 0 end
if type(value) == 'string' then
  redis.call('SET', KEYS[1], ARGV[1] .. value, 'KEEPTTL')
  return 1
end
local kept = redis.pcall('HMGET', KEYS[1], 'larder', 'v')
if kept.err or not kept[1] then return value end
if not kept[2] then return 0 end
redis.call('HSET', KEYS[1], 'v', ARGV[1] .. kept[2])
redis.call('HDEL', KEYS[1], 'l', 'u')
return 1
