package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// reply is what the server said to a group of statements.
type reply struct {
	answers []answer
	err     error // a refusal of the server's
}

// pipeline sends groups of statements in one write, each group with a Sync of
// its own: a refusal ends its group and no other. It returns a reply to each
// group that was answered. If one was not the session is broken, the error says
// why, and what those groups did is unknown.
func (s *session) pipeline(ctx context.Context, until time.Time, groups [][]statement) ([]reply, error) {
	if err := s.conn.SetDeadline(until); err != nil {
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
	for _, group := range groups {
		for _, st := range group {
			s.send(st)
		}
		s.frontend.SendSync(&pgproto3.Sync{})
	}
	s.broken = true // until the whole answer is here
	if err := s.frontend.Flush(); err != nil {
		return nil, err
	}
	replies := make([]reply, 0, len(groups))
	for _, group := range groups {
		answers, err := s.answers(len(group))
		if s.broken {
			return replies, err
		}
		replies = append(replies, reply{answers, err})
		s.broken = len(replies) < len(groups)
	}
	return replies, nil
}

func (s *session) send(st statement) {
	args := make([][]byte, len(st.args))
	for i, arg := range st.args {
		args[i] = []byte(arg)
	}
	s.frontend.SendParse(&pgproto3.Parse{Query: st.sql})
	s.frontend.SendBind(&pgproto3.Bind{Parameters: args})
	s.frontend.SendExecute(&pgproto3.Execute{})
}
