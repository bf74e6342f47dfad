-- The length of a value, its TTL in milliseconds, -1 for none, and whether it is stale, 1 or 0; nil where there is
-- none.
local left = redis.call('PTTL', KEYS[1])
if left == -2 then return false end
local length = redis.pcall('STRLEN', KEYS[1])
if type(length) == 'number' then return {length, left, 0} end
local found = kept()
if not found then return length end
if not found.value then return false end
return {#found.value, left, 1}
