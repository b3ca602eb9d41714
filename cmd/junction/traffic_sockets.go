package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A socketFolder is looked at again and again for the sockets of processes that show their messages. When it was changed
// costs a twentieth of what it has.
type socketFolder struct {
	path     string
	modified time.Time
	listed   time.Time // the zero time: it is to be listed, whatever its times say
}

const (
	folderSlack = 3 * time.Second // by which times of folders are not exact: on some file systems nearly so much
	listPause   = 5 * time.Second // until it is listed anyway, for a process that did not answer before
)

// unwatched are the sockets of processes that are not watched yet, as far as the folder changed since the last time.
func (f *socketFolder) unwatched(pids []string, seen map[string]bool) (paths []string) {
	now := time.Now()
	info, err := os.Stat(f.path)
	if err == nil && info.ModTime().Equal(f.modified) && now.Sub(f.modified) > folderSlack && now.Sub(f.listed) < listPause {
		return nil
	}
	if f.listed = now; err == nil {
		f.modified = info.ModTime()
	}
	all, _ := filepath.Glob(filepath.Join(f.path, "*"+trafficEnd)) // of a pattern that is well formed
	return slices.DeleteFunc(all, func(path string) bool {
		return seen[path] || len(pids) > 0 && !slices.Contains(pids, strings.TrimSuffix(filepath.Base(path), trafficEnd))
	})
}

// processOf is the process of a socket.
func processOf(path string) (pid int) {
	pid, _ = strconv.Atoi(strings.TrimSuffix(filepath.Base(path), trafficEnd))
	return pid
}
