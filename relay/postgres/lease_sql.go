package postgres

// A lease is read as owner, token, expiry in microseconds since the Unix epoch.
const leaseColumns = "owner, token, (extract(epoch from expires_at) * 1000000)::int8"

// takeLeaseSQL grants or extends in one statement and returns the lease, or no
// row. Arguments: role, owner, TTL in microseconds.
//
// The tests of an existing row run after its lock was taken, and
// clock_timestamp() is the time of that moment; now() would be the time at
// which the wait for the lock began. It is read more than once, and the lease
// may lapse in between. So the token does not hang on the clock alone: another
// owner always gets a new one, whatever the clock says by then.
//
// At the last token only the holder's own extension is left, which needs no new
// one. That it was live is decided once, by the WHERE.
const takeLeaseSQL = `
insert into relay_leases as t (role, owner, token, acquired_at, expires_at, ttl)
values ($1::text, $2::text, 1, clock_timestamp(),
        clock_timestamp() + $3::int8 * interval '1 microsecond', $3::int8 * interval '1 microsecond')
on conflict (role) do update set
    owner = excluded.owner,
    token = t.token + case
        when t.owner = excluded.owner
            and (t.expires_at > clock_timestamp() or t.token = 9223372036854775807) then 0
        else 1 end,
    acquired_at = case
        when t.owner = excluded.owner and t.expires_at > clock_timestamp() then t.acquired_at
        else clock_timestamp() end,
    expires_at = clock_timestamp() + excluded.ttl,
    ttl = excluded.ttl
where case when t.token < 9223372036854775807
    then t.owner = excluded.owner or t.expires_at <= clock_timestamp()
    else t.owner = excluded.owner and t.expires_at > clock_timestamp() end
returning ` + leaseColumns

// readLeaseSQL also tells whether the lease is live. Argument: role.
const readLeaseSQL = "select " + leaseColumns + `, expires_at > clock_timestamp()
from relay_leases where role = $1::text`

// releaseLeaseSQL keeps the row, and with it the token. Arguments: role, owner,
// token.
const releaseLeaseSQL = `
update relay_leases set expires_at = clock_timestamp()
where role = $1::text and owner = $2::text and token = $3::int8 and expires_at > clock_timestamp()`

// advanceTokenSQL leaves the expiry; a role that was never granted gets a row
// that has lapsed, of an owner that no name equals. A lease that is live gets one
// more than the token, so that nobody goes on, or begins, under a token that the
// resource may have seen: a candidate whose grant was not answered takes its
// renewal for the grant. Arguments: role, token.
const advanceTokenSQL = `
insert into relay_leases as t (role, owner, token, acquired_at, expires_at, ttl)
values ($1::text, '', $2::int8, 'epoch', 'epoch', '0')
on conflict (role) do update set token = excluded.token + case
    when t.expires_at > clock_timestamp() and excluded.token < 9223372036854775807 then 1 else 0 end
where t.token < excluded.token or t.token = excluded.token and t.expires_at > clock_timestamp()`
