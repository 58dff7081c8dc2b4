package main

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// watched are the folders that pages are made of.
var watched = []string{"articles", "samples", "relay"}

// settled is how long nothing must change before a build: an editor writes a
// file in several steps.
const settled = 20 * time.Millisecond

// watching tells of changes until it is closed.
type watching struct {
	watcher *fsnotify.Watcher
	ended   chan struct{}
}

// watch calls changed after each burst of changes.
func watch(root string, changed func()) (*watching, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	for _, folder := range watched {
		if err := addAll(watcher, filepath.Join(root, folder)); err != nil {
			return nil, errors.Join(err, watcher.Close())
		}
	}
	w := &watching{watcher, make(chan struct{})}
	go w.loop(changed)
	return w, nil
}

// addAll watches a folder and those below it, hidden ones apart.
func addAll(watcher *fsnotify.Watcher, folder string) error {
	return filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case path != folder && strings.HasPrefix(entry.Name(), "."):
			return filepath.SkipDir
		}
		return watcher.Add(path)
	})
}

func (w *watching) loop(changed func()) {
	defer close(w.ended)
	quiet := time.NewTimer(settled)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case event, ok := <-w.watcher.Events:
			if !ok {
				return
			}
			if event.Has(fsnotify.Create) { // a new folder, maybe
				_ = addAll(w.watcher, event.Name)
			}
			if !event.Has(fsnotify.Chmod) {
				quiet.Reset(settled)
			}
		case _, ok := <-w.watcher.Errors: // changes were lost: build to be sure
			if !ok {
				return
			}
			quiet.Reset(settled)
		case <-quiet.C:
			changed()
		}
	}
}

// Close ends the watch; changed is not called any more once it has returned.
func (w *watching) Close() error {
	err := w.watcher.Close()
	<-w.ended
	return err
}
