package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settled is how long nothing must change before a build: an editor writes a
// file in several steps.
const settled = 20 * time.Millisecond

// watching tells of changes until it is closed.
type watching struct {
	watcher *fsnotify.Watcher
	root    string
	extra   string // a file that may be elsewhere, or nothing
	ended   chan struct{}
}

// watch calls changed after each burst of changes to the repository, or to one
// more file. It watches all of it: articles take pictures from anywhere, and a
// folder can go and come back, as when git switches to another branch. What it
// can't watch any more is told to failed.
func watch(root, extra string, changed func(), failed func(error)) (*watching, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	if extra != "" {
		if extra, err = resolved(extra); err != nil {
			return nil, err
		}
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	w := &watching{watcher, root, extra, make(chan struct{})}
	if err := w.addAll(); err != nil {
		return nil, errors.Join(err, watcher.Close())
	}
	go w.loop(changed, failed)
	return w, nil
}

// resolved is where a file is; the file itself need not be there.
func resolved(file string) (string, error) {
	file, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(file))
	return filepath.Join(folder, filepath.Base(file)), err
}

// addAll watches the folders that there are now. For those that are watched
// already that changes nothing.
func (w *watching) addAll() error {
	if w.extra != "" {
		if err := w.add(filepath.Dir(w.extra)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(w.root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case unseen(err):
			return nil
		case err != nil:
			return err
		case !entry.IsDir():
			return nil
		case w.outside(path):
			return filepath.SkipDir
		}
		return w.add(path)
	})
}

func (w *watching) add(folder string) error {
	if err := w.watcher.Add(folder); err != nil && !unseen(err) {
		return fmt.Errorf("watch %s: %w", folder, err)
	}
	return nil
}

// unseen tells whether a folder is gone meanwhile, or is none of ours.
func unseen(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// outside tells whether no page is made of what is at a path: it is hidden, or
// it is what docgen and other tools write.
func (w *watching) outside(path string) bool {
	inside, err := filepath.Rel(w.root, path)
	if err != nil || inside == "." {
		return err != nil
	}
	names := strings.Split(inside, string(filepath.Separator))
	return names[0] == "site" || names[0] == "build" || slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, ".") || name == "node_modules"
	})
}

// matters tells whether an event is a reason to build.
func (w *watching) matters(event fsnotify.Event) bool {
	if event.Op == fsnotify.Chmod {
		return false
	}
	if w.extra != "" && (event.Name == w.extra || event.Name == filepath.Dir(w.extra)) {
		return true
	}
	return !w.outside(event.Name)
}

func (w *watching) loop(changed func(), failed func(error)) {
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
			if w.matters(event) {
				quiet.Reset(settled)
			}
		case _, ok := <-w.watcher.Errors: // changes were lost: build to be sure
			if !ok {
				return
			}
			quiet.Reset(settled)
		case <-quiet.C:
			// First the folders that are new: what changes in them from here on is
			// seen, and what did before is built now.
			if err := w.addAll(); err != nil {
				failed(err)
			}
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
