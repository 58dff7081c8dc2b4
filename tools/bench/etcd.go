package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// startEtcd runs one member, on the loopback interface.
func startEtcd(ctx context.Context) (p peer, stop func(), err error) {
	p.name = "etcd"
	program, err := exec.LookPath("etcd")
	if err != nil {
		p.missing = "etcd (etcd-server in Debian)"
		return p, func() {}, nil
	}
	clients, err := freeAddress()
	if err != nil {
		return p, nil, err
	}
	members, err := freeAddress()
	if err != nil {
		return p, nil, err
	}
	dir, err := os.MkdirTemp("", "relay-bench-")
	if err != nil {
		return p, nil, err
	}
	clientURL, memberURL := "http://"+clients, "http://"+members
	server, err := guard(dir, program, "--name", "bench", "--data-dir", filepath.Join(dir, "data"),
		"--listen-client-urls", clientURL, "--advertise-client-urls", clientURL,
		"--listen-peer-urls", memberURL, "--initial-advertise-peer-urls", memberURL, "--initial-cluster", "bench="+memberURL)
	if err != nil {
		return p, nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := server.await(ctx, func() error { return listens("tcp", clients) }); err != nil {
		server.stop()
		return p, nil, err
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{clientURL}, Logger: zap.NewNop()})
	if err != nil {
		server.stop()
		return p, nil, err
	}
	p.taking, p.waiting = takeEtcd(client), waitEtcd(client)
	return p, func() {
		_ = client.Close()
		server.stop()
	}, nil
}

// takeEtcd has one session for all the callers, as a process would.
func takeEtcd(client *clientv3.Client) taking {
	return func(_ context.Context, callers int) (operation, func(), error) {
		session, err := concurrency.NewSession(client)
		if err != nil {
			return nil, nil, err
		}
		keys := names("/bench", callers)
		return func(ctx context.Context, caller int) error {
			mutex := concurrency.NewMutex(session, keys[caller])
			if err := mutex.Lock(ctx); err != nil {
				return err
			}
			return mutex.Unlock(ctx)
		}, func() { _ = session.Close() }, nil
	}
}

// waitEtcd is woken by a watch.
func waitEtcd(client *clientv3.Client) waitingPeer {
	return func(context.Context) (waiting, func(), error) {
		holder, err := concurrency.NewSession(client)
		if err != nil {
			return waiting{}, nil, err
		}
		waiter, err := concurrency.NewSession(client)
		if err != nil {
			return waiting{}, nil, errors.Join(err, holder.Close())
		}
		side := func(session *concurrency.Session) func(context.Context) (func(context.Context) error, error) {
			return func(ctx context.Context) (func(context.Context) error, error) {
				mutex := concurrency.NewMutex(session, "/waited")
				return mutex.Unlock, mutex.Lock(ctx)
			}
		}
		return waiting{name: "etcd, woken by a watch", take: side(holder), wait: side(waiter)},
			func() { _, _ = holder.Close(), waiter.Close() }, nil
	}
}
