package postgres

import (
	"context"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// reply is what the server said to a group of statements.
type reply struct {
	answers []answer
	err     error // a refusal of the server's
}

// ask sends statements in one round trip and returns an answer for each. All of
// them reach the same server session, through a pooler too. A server's refusal (a
// *pgconn.PgError) leaves the session usable; after any other error, the end of
// ctx included, it is broken and what the statements did is unknown.
func (s *session) ask(ctx context.Context, until time.Time, statements ...statement) ([]answer, error) {
	replies, err := s.pipeline(ctx, until, [][]statement{statements})
	if err != nil {
		return nil, endOr(ctx, err)
	}
	return replies[0].answers, replies[0].err
}

// pipeline sends groups of statements in one write, each group with a Sync of
// its own: a refusal ends its group and no other. It returns a reply to each
// group that was answered. If one was not the session is broken, the error says
// why, and what those groups did is unknown.
func (s *session) pipeline(ctx context.Context, until time.Time, groups [][]statement) ([]reply, error) {
	if err := s.setDeadlines(until, until); err != nil {
		s.broken = true
		return nil, err
	}
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = s.conn.SetDeadline(longAgo)
	})
	defer func() {
		if !stop() {
			<-interrupted // else it could hit whoever uses the session next
		}
	}()
	fresh := make([][]*prepared, len(groups))
	for i, group := range groups {
		for _, st := range group {
			s.send(st, &fresh[i])
		}
		s.frontend.SendSync(&pgproto3.Sync{})
	}
	s.broken = true // until the whole answer is here
	if err := s.frontend.Flush(); err != nil {
		return nil, err
	}
	replies := make([]reply, 0, len(groups))
	for i, group := range groups {
		answers, err := s.answers(len(group))
		if s.broken {
			return replies, err
		}
		s.learn(fresh[i], err)
		replies = append(replies, reply{answers, err})
		s.broken = len(replies) < len(groups)
	}
	return replies, nil
}

// send writes a statement. On a session of our own it is prepared under a name of
// its own, which counts once its group has been answered: what comes after a
// refusal is not even parsed. So before it is parsed again the name is given
// back, which is no error if nobody has it.
func (s *session) send(st statement, fresh *[]*prepared) {
	args := make([][]byte, len(st.args))
	for i, arg := range st.args {
		args[i] = []byte(arg)
	}
	var p prepared
	if s.own && len(st.args) > 0 { // what has none is soon parsed
		p = *s.prepare(st.sql, fresh)
	}
	if !p.known {
		s.frontend.SendParse(&pgproto3.Parse{Name: p.name, Query: st.sql})
	}
	s.frontend.SendBind(&pgproto3.Bind{PreparedStatement: p.name, Parameters: args})
	s.frontend.SendExecute(&pgproto3.Execute{})
}

func (s *session) prepare(sql string, fresh *[]*prepared) *prepared {
	p := s.names[sql]
	if p == nil {
		if s.names == nil {
			s.names = make(map[string]*prepared)
		}
		p = &prepared{name: "relay_" + strconv.Itoa(len(s.names))}
		s.names[sql] = p
	}
	if !p.known {
		s.frontend.SendClose(&pgproto3.Close{ObjectType: 'S', Name: p.name})
		*fresh = append(*fresh, p)
	}
	return p
}

// learn takes what the answer to a group says of the statements in it. A server
// that does not know what it was told to keep is shared after all; one whose
// tables have changed has to plan anew.
func (s *session) learn(fresh []*prepared, refusal error) {
	switch {
	case refusal == nil:
		for _, p := range fresh {
			p.known = true
		}
	case isCode(refusal, codeNoSuchStatement):
		s.own = false
	case isCode(refusal, codeNotSupported):
		for _, p := range s.names {
			p.known = false
		}
	}
}
