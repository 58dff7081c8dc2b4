package postgres

import (
	"context"
	"maps"
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
	fresh := make([]map[string]string, len(groups))
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

// send writes a statement. On a session of our own it is prepared under a name
// that nobody has had, which counts once its group has been answered: what comes
// after a refusal is not even parsed.
func (s *session) send(st statement, fresh *map[string]string) {
	args := make([][]byte, len(st.args))
	for i, arg := range st.args {
		args[i] = []byte(arg)
	}
	name, known := s.names[st.sql]
	if !known {
		if s.own && len(st.args) > 0 { // what has none is soon parsed
			s.named++
			name = "relay_" + strconv.Itoa(s.named)
			if *fresh == nil {
				*fresh = make(map[string]string)
			}
			(*fresh)[st.sql] = name
		}
		s.frontend.SendParse(&pgproto3.Parse{Name: name, Query: st.sql})
	}
	s.frontend.SendBind(&pgproto3.Bind{PreparedStatement: name, Parameters: args})
	s.frontend.SendExecute(&pgproto3.Execute{})
}

// learn keeps the names of statements that are prepared now. A server that does
// not know what it was told to keep is shared after all.
func (s *session) learn(fresh map[string]string, refusal error) {
	switch {
	case isCode(refusal, codeNoSuchStatement):
		s.own, s.names = false, nil
	case refusal == nil && s.own && len(fresh) > 0:
		if s.names == nil {
			s.names = make(map[string]string)
		}
		maps.Copy(s.names, fresh)
	}
}
