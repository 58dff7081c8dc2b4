-- One row for each role that was ever granted; it is never deleted, because
-- its token must never start again. Logged for the same reason. Half-empty
-- pages, and no index on expires_at, keep renewals cheap (HOT updates).
create table if not exists relay_leases (
    role        text collate "C" primary key,
    owner       text collate "C" not null,
    token       bigint not null check (token >= 0),
    acquired_at timestamptz not null,
    expires_at  timestamptz not null,
    ttl         interval not null
) with (fillfactor = 50);

-- The last heartbeat of each node.
create table if not exists relay_nodes (
    group_name text collate "C",
    node       text collate "C",
    beat_at    timestamptz not null,
    primary key (group_name, node)
) with (fillfactor = 50);

-- The highest fencing token that each resource has seen.
create table if not exists relay_fences (
    resource text collate "C" primary key,
    token    bigint not null check (token > 0)
) with (fillfactor = 50);
