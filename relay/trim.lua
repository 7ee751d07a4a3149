-- Trim what every registered group has acknowledged.
-- KEYS[1] stream
-- ARGV    the newest entry of ours, which stays; then each registered group and the position that
--         is stored for it
-- Gives the number of entries removed; -1: a registered group is missing, or one is not registered.
-- Positions are read again: a group that went back since it was stored is respected.
local keep, stored, n = ARGV[1], {}, 0
for i = 2, #ARGV, 2 do
	stored[ARGV[i]] = ARGV[i + 1]
	n = n + 1
end
if n == 0 or redis.call('EXISTS', KEYS[1]) == 0 then
	return -1
end
-- Redis has lost it, and the relay has not looked yet: what is left may be all that a consumer has.
if keep ~= '0-0' and #redis.call('XRANGE', KEYS[1], keep, keep) == 0 then
	return 0
end
for _, group in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
	local name, id = field(group, 'name'), field(group, 'last-delivered-id')
	local pending = redis.call('XPENDING', KEYS[1], name, '-', '+', 1)[1]
	if not stored[name] then
		return -1
	end
	for _, bound in ipairs({id, pending and pending[1] or id, stored[name]}) do
		if less(bound, keep) then
			keep = bound
		end
	end
	n = n - 1
end
if n > 0 then
	return -1
end
return redis.call('XTRIM', KEYS[1], 'MINID', '=', keep)
