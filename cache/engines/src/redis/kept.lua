-- A lease of an absent key and a stale entry are hashes with the field `larder`. `v` is the stale value, `l` the lease
-- and `u` its end, in milliseconds. Nil where KEYS[1] is no such hash.
local function kept()
  local fields = redis.pcall('HMGET', KEYS[1], 'larder', 'v', 'l', 'u')
  if fields.err or not fields[1] then return nil end
  return {value = fields[2], lease = fields[3], over = tonumber(fields[4] or '-1')}
end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
