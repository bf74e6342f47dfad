-- Puts the text ARGV[1] behind an existing value; 0 where there is none.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local length = redis.pcall('APPEND', KEYS[1], ARGV[1])
if type(length) == 'number' then return 1 end
local kept = redis.pcall('HMGET', KEYS[1], 'larder', 'v')
if kept.err or not kept[1] then return length end
if not kept[2] then return 0 end
redis.call('HSET', KEYS[1], 'v', kept[2] .. ARGV[1])
redis.call('HDEL', KEYS[1], 'l', 'u')
return 1
