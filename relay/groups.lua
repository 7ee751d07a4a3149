-- How far each group of the stream has got.
-- KEYS[1] stream
-- Gives {name, position, oldest pending ID or ''} for each: first what was delivered, then what of it
-- is still pending.
local result = {}
if redis.call('EXISTS', KEYS[1]) == 0 then
	return result
end
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
	local name, id = field(group, 'name'), field(group, 'last-delivered-id')
	local pending = redis.call('XPENDING', KEYS[1], name, '-', '+', 1)[1]
	result[#result + 1] = {name, id, pending and pending[1] or ''}
end
return result
