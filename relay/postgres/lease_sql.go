package postgres

import "strings"

// A lease is read as owner, token, expiry in microseconds since the Unix epoch.
const leaseColumns = "owner, token, (extract(epoch from expires_at) * 1000000)::int8"

// writeLeasesSQL grants, renews and releases leases of many roles in one
// statement, each role once. It returns those that it has written. Arguments:
// roles, owners, tokens, TTLs in microseconds. A TTL of 0 is a release, of the
// lease with that owner and token; else the token is 1, the first that a new
// role gets.
//
// Rows are locked in the order of the roles, bytewise, so that two batches never
// wait for each other in a circle.
//
// The WHERE of the select spares those that are refused anyway a row lock and a
// record in the WAL: the lease of another owner that a snapshot shows as live
// was live at that moment, and a release needs a row. It decides for nobody who
// is granted something. That is done by the WHERE at the end, which runs after
// the row was locked, on the row as it is then; and clock_timestamp() is the
// time of that moment, when now() would be the time at which the wait for the
// lock began.
//
// It is read more than once, and the lease may lapse in between. So the token
// does not hang on the clock alone: another owner always gets a new one,
// whatever the clock says by then.
//
// At the last token only the holder's own renewal is left, which needs no new
// one. That it was live is decided once, by the WHERE.
const writeLeasesSQL = `
insert into relay_leases as t (role, owner, token, acquired_at, expires_at, ttl)
select c.role, c.owner, c.token, clock_timestamp(),
    clock_timestamp() + c.ttl * interval '1 microsecond', c.ttl * interval '1 microsecond'
from unnest($1::text[], $2::text[], $3::int8[], $4::int8[]) as c (role, owner, token, ttl)
where case
    when c.ttl = 0 then exists (select from relay_leases as seen where seen.role = c.role and seen.owner = c.owner)
    else not exists (select from relay_leases as seen
        where seen.role = c.role and seen.owner <> c.owner and seen.expires_at > clock_timestamp()) end
order by c.role collate "C"
on conflict (role) do update set
    owner = excluded.owner,
    token = t.token + case
        when excluded.ttl = '0' then 0
        when t.owner = excluded.owner
            and (t.expires_at > clock_timestamp() or t.token = 9223372036854775807) then 0
        else 1 end,
    acquired_at = case
        when t.owner = excluded.owner and t.expires_at > clock_timestamp() then t.acquired_at
        else clock_timestamp() end,
    expires_at = clock_timestamp() + excluded.ttl,
    ttl = excluded.ttl
where case
    when excluded.ttl = '0' then
        t.owner = excluded.owner and t.token = excluded.token and t.expires_at > clock_timestamp()
    when t.token < 9223372036854775807 then
        t.owner = excluded.owner or t.expires_at <= clock_timestamp()
    else t.owner = excluded.owner and t.expires_at > clock_timestamp() end
returning role, ` + leaseColumns

// readLeasesSQL also tells which leases are live. Arguments: roles, and for each
// the owner whose lease need not be told, since it was just written. At the last
// token it may not have been. OFFSET 0 has each role looked up by its key: a plan
// that is kept was made for a table of another size.
const readLeasesSQL = "select t.role, t." + leaseColumns + `, expires_at > clock_timestamp()
from unnest($1::text[], $2::text[]) as c (role, owner),
    lateral (select * from relay_leases where role = c.role offset 0) as t
where t.owner <> c.owner or t.token = 9223372036854775807`

// notifyReleasedSQL wakes those who wait for roles that are free now. It runs in
// the transaction that has freed them. NOTIFY is not for free, because the
// commits of all who notify wait for each other, so it is sent only where
// somebody waits: a waiter shares a lock on the role's key.
//
// No wake-up is lost. The lock that is tried here stays until the commit, so a
// waiter has registered before it, and is notified; or it registers after the
// commit, and then sees that the role is free. CASE fixes the order.
//
// Arguments: roles, their keys, what to notify.
const notifyReleasedSQL = `
select case when pg_try_advisory_xact_lock(c.key) then null
    else pg_notify('` + notifyChannel + `', c.payload)::text end
from unnest($1::text[], $2::int8[], $3::text[]) as c (role, key, payload),
    lateral (select * from relay_leases where role = c.role offset 0) as t
where t.expires_at <= clock_timestamp()`

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

// listLeasesSQL has no arguments.
const listLeasesSQL = "select role, " + leaseColumns + `, expires_at > clock_timestamp(),
    (extract(epoch from acquired_at) * 1000000)::int8
from relay_leases order by role collate "C"`

// array writes values as PostgreSQL reads them: {"a","b"}.
func array(values []string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i, v := range values {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		_, _ = arrayEscapes.WriteString(&b, v) // a Builder does not fail
		b.WriteByte('"')
	}
	b.WriteByte('}')
	return b.String()
}

var arrayEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
