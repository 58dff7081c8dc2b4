package main

import (
	"sync"

	"github.com/relay-samples/relay-go/relay"
)

// storage is the protected resource: one value that several clients write.
type storage interface {
	write(token relay.Token, value string) error
	read() string
}

// plainStorage accepts every write, whoever it comes from. It gets the token
// and makes nothing of it.
type plainStorage struct {
	mu    sync.Mutex // guards value
	value string
}

func (s *plainStorage) write(_ relay.Token, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value = value
	return nil
}

func (s *plainStorage) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}

// fencedStorage refuses the write of a client that a later one has overtaken.
type fencedStorage struct {
	mu    sync.Mutex // makes check and write one step; guards value
	fence relay.Fence
	value string
}

func (s *fencedStorage) write(token relay.Token, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fence.Admit(token); err != nil {
		return err
	}
	s.value = value
	return nil
}

func (s *fencedStorage) read() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value
}
