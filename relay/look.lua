-- What the stream is and where it begins and ends.
-- KEYS[1] stream
-- Gives {type}, and of a stream also {type, last ID, length, first ID or '', the position of the
-- group that is furthest on}.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'stream' then
	return {kind}
end
local info = redis.call('XINFO', 'STREAM', KEYS[1])
local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
local furthest = '0-0'
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
	local id = field(group, 'last-delivered-id')
	if less(furthest, id) then
		furthest = id
	end
end
return {kind, field(info, 'last-generated-id'), field(info, 'length'), first and first[1] or '', furthest}
