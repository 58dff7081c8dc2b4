package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/relay-samples/relay-go/relay"
)

var _ relay.NodeRegistry = (*NodeRegistry)(nil)

// forgetAfter is after how many liveness TTLs a heartbeat deletes a silent
// node's row.
const forgetAfter = 10

// heartbeatSQL has arguments: group, node.
const heartbeatSQL = `
insert into relay_nodes (group_name, node, beat_at) values ($1::text, $2::text, clock_timestamp())
on conflict (group_name, node) do update set beat_at = clock_timestamp()`

// forgetNodesSQL skips rows that somebody else has locked. Heartbeats that
// delete each other's rows would else deadlock, and whoever has the lock either
// refreshes the row or deletes it. Arguments: group, age in microseconds.
const forgetNodesSQL = `
delete from relay_nodes where (group_name, node) in (
    select group_name, node from relay_nodes
    where group_name = $1::text and beat_at < clock_timestamp() - $2::int8 * interval '1 microsecond'
    for update skip locked)`

// leaveSQL has arguments: group, node.
const leaveSQL = "delete from relay_nodes where group_name = $1::text and node = $2::text"

// liveNodesSQL has arguments: group, TTL in microseconds. A beat that is
// exactly as old as the TTL still counts.
const liveNodesSQL = `
select node from relay_nodes
where group_name = $1::text and beat_at >= statement_timestamp() - $2::int8 * interval '1 microsecond'
order by node collate "C"`

// NodeRegistryConfig tunes a NodeRegistry. The zero value works.
type NodeRegistryConfig struct {
	// RequestTimeout bounds each call's round trip, 5 s by default and 1 h at
	// most; a sooner deadline of the call's context counts instead.
	RequestTimeout time.Duration

	// ApplicationName is the one in pg_stat_activity. By default it is the
	// connection string's, or "relay".
	ApplicationName string

	// Observer is told of calls that fail.
	Observer relay.Observer
}

// NodeRegistry keeps the last heartbeat of each node in the table relay_nodes
// (see Migrate), by the server's clock and apart for each group. It uses one
// session of its own. A pooler in transaction mode may sit between.
type NodeRegistry struct {
	group   string
	ttl     time.Duration
	timeout time.Duration
	observe relay.Observer
	life    lifetime

	turn chan struct{} // full while a call uses what follows
	tx   transactor
}

// NewNodeRegistry makes a NodeRegistry of a group, in which a node is live
// until its last heartbeat is older than livenessTTL; 0 is
// relay.DefaultLivenessTTL. Give all registries of a group the same one. It
// connects as cfg says, which pgxpool.ParseConfig has to have made, and not
// yet. Of cfg the connection and BeforeConnect count.
func NewNodeRegistry(
	cfg *pgxpool.Config, group string, livenessTTL time.Duration, registryCfg NodeRegistryConfig,
) (*NodeRegistry, error) {
	ttl := cmp.Or(livenessTTL, relay.DefaultLivenessTTL)
	if err := relay.ValidateTTL(ttl); err != nil {
		return nil, fmt.Errorf("relay/postgres: livenessTTL: %w", err)
	}
	if err := relay.ValidateName(group); err != nil {
		return nil, fmt.Errorf("relay/postgres: group: %w", err)
	}
	timeout := cmp.Or(registryCfg.RequestTimeout, defaultRequestTimeout)
	if err := checkRequestTimeout(timeout); err != nil {
		return nil, err
	}
	source, err := newSource(cfg, registryCfg.ApplicationName, timeout)
	if err != nil {
		return nil, err
	}
	return &NodeRegistry{
		group: group, ttl: ttl, timeout: timeout, observe: registryCfg.Observer,
		life: newLifetime(), turn: make(chan struct{}, 1), tx: transactor{source: source},
	}, nil
}

// Heartbeat says that node is alive now. It also deletes the rows of nodes of
// its group that have been silent for ten liveness TTLs.
func (r *NodeRegistry) Heartbeat(ctx context.Context, node string) error {
	if err := relay.ValidateName(node); err != nil {
		return err
	}
	_, err := r.transact(ctx, "heartbeat of ", node,
		stmt(heartbeatSQL, r.group, node), stmt(forgetNodesSQL, r.group, micros(r.ttl*forgetAfter)))
	return err
}

// Leave removes node at once. It is nil for a node that is not known.
func (r *NodeRegistry) Leave(ctx context.Context, node string) error {
	if err := relay.ValidateName(node); err != nil {
		return err
	}
	_, err := r.transact(ctx, "leave of ", node, stmt(leaveSQL, r.group, node))
	return err
}

// LiveNodes returns the live nodes of the group, sorted bytewise. It also works
// on a standby, as of what has arrived there.
func (r *NodeRegistry) LiveNodes(ctx context.Context) ([]string, error) {
	answers, err := r.transact(ctx, "live nodes", "", stmt(liveNodesSQL, r.group, micros(r.ttl)))
	if err != nil {
		return nil, err
	}
	nodes := make([]string, len(answers[0].rows))
	for i, row := range answers[0].rows {
		nodes[i] = row[0]
	}
	return nodes, nil
}

// Close ends all calls with relay.ErrClosed and closes the session. Nodes stay
// as they are, until they lapse. A second Close does nothing and returns nil.
func (r *NodeRegistry) Close(ctx context.Context) error {
	r.life.end()
	if !r.takeTurn(ctx) {
		return fmt.Errorf("relay/postgres: close: %w", ctx.Err()) // the call in flight closes it
	}
	r.passTurn()
	return nil
}

// takeTurn waits until no other call uses the session, or until ctx ends.
func (r *NodeRegistry) takeTurn(ctx context.Context) bool {
	select {
	case r.turn <- struct{}{}: // also when ctx has ended
		return true
	default:
	}
	select {
	case r.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *NodeRegistry) passTurn() {
	if r.life.ctx.Err() != nil {
		r.tx.close()
	}
	<-r.turn
}

func (r *NodeRegistry) transact(ctx context.Context, what, node string, statements ...statement) ([]answer, error) {
	began := time.Now()
	answers, err := r.try(ctx, statements)
	if err == nil {
		return answers, nil
	}
	panicOn(err)
	if node != "" {
		what += fmt.Sprintf("node %q", node)
	}
	event := relay.Event{Name: cmp.Or(node, r.group), Took: time.Since(began)}
	return nil, report(r.observe, event, fmt.Sprintf("%s in group %q", what, r.group), err)
}

// try runs statements as one transaction in one round trip. A heartbeat is
// alone in its process, so it has a session to itself, and ctx may cut it.
func (r *NodeRegistry) try(caller context.Context, statements []statement) ([]answer, error) {
	ctx, stop := r.life.bound(caller)
	defer stop()
	if err := endOf(ctx); err != nil {
		return nil, err
	}
	if !r.takeTurn(ctx) {
		return nil, endOf(ctx)
	}
	defer r.passTurn()
	answers, err := r.send(ctx, statements)
	if errors.Is(err, errStale) || isStalePlan(err) {
		answers, err = r.send(ctx, statements) // on a new session, or prepared anew
	}
	return answers, err
}

func (r *NodeRegistry) send(ctx context.Context, statements []statement) ([]answer, error) {
	if err := r.tx.ready(ctx); err != nil {
		return nil, err
	}
	due := time.Now().Add(r.timeout)
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(due) {
		due = deadline
	}
	// Each statement may run twice: a beat is a beat, and who has left has left.
	outcomes, err := r.tx.run(ctx, limits{due: due, until: due, share: 1, harmless: true}, transaction{body: statements})
	if err != nil {
		return nil, err
	}
	return outcomes[0].answers, outcomes[0].err
}
