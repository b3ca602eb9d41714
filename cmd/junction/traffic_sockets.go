package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
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

// checkWatched refuses the numbers of processes that are not there: none of them can show anything later.
func checkWatched(pids []string) error {
	for _, pid := range pids {
		if n, err := strconv.Atoi(pid); err != nil || !isThere(n) {
			return fmt.Errorf("no process %s runs, so nothing of it can be watched.%s", pid, others(pids))
		}
	}
	return nil
}

// others says which processes can be watched, unless all can be.
func others(pids []string) string {
	if len(pids) == 0 {
		return ""
	}
	dir, err := statusFolder()
	if err != nil {
		return ""
	}
	folder := socketFolder{path: dir}
	var there []string
	for _, path := range folder.unwatched(nil, nil) {
		if pid := processOf(path); isThere(pid) {
			there = append(there, strconv.Itoa(pid))
		}
	}
	if len(there) == 0 {
		return " No junction up, proxy or chat runs that could be."
	}
	return " These can be: " + strings.Join(there, ", ") + "."
}

// isThere reports whether a process runs.
func isThere(pid int) bool {
	p, err := os.FindProcess(pid) // which fails on Windows for one that does not
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	err = p.Signal(syscall.Signal(0))
	return runtime.GOOS == "windows" || err == nil || errors.Is(err, os.ErrPermission)
}
