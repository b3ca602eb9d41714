package reach

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/traffic"
	"github.com/spf13/pflag"
)

const (
	TrafficSuffix = ".traffic"       // ending of the name of the socket at which a process sends its messages
	WatcherSuffix = ".watching"      // ending of the name of the socket of a process that watches the messages of others
	trafficTime   = 10 * time.Second // time limit for a watcher to read a message
	lastTime      = time.Second      // the same limit when the process ends
	MaxWatchers   = 8                // largest number of watchers of a process
	maxLines      = 64 << 10         // bytes of messages that are written together, unless one message is larger
	// firstTime is how long a new process waits for watchers of its first messages.
	firstTime = 2 * time.Second
)

// The values of the byte that a watcher sends first.
const (
	WantsMessages = 'm'
	WantsNotes    = 'n' // messages and notes
)

// tooManyWatch is sent to a watcher beyond the limit: an empty first line, and an object instead of
// messages.
const tooManyWatch = "\n" + `{"busy":true}` + "\n"

// AnnounceWatcher makes new processes wait for this one before their first messages. It does so by
// a socket, because the socket of a killed process refuses connections. The caller must call
// unmark.
func AnnounceWatcher(p place.Place) (unmark func()) {
	l, path, err := cli.ListenSocket(p, WatcherSuffix)
	if err != nil {
		return func() {} // the first messages of others may be missed
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cli.AcceptEach(l, func(conn net.Conn) { conn.Close() })
	}()
	return func() {
		os.Remove(path)
		l.Close()
		<-ended
	}
}

// isWatching reports whether a process wants to see the first messages of new processes.
func isWatching(dir string) bool {
	marks, _ := filepath.Glob(filepath.Join(dir, "*"+WatcherSuffix)) // the pattern is valid
	for _, path := range marks {
		if conn, err := cli.DialSocket(context.Background(), path); err == nil {
			conn.Close()
			return true
		}
	}
	return false
}

// ShareTraffic sends the messages of this process to junction traffic, through a socket that only
// this user can open. If it cannot listen, it logs the error and does nothing else. serves is the
// name of the only server of this process, or "". The caller must call end.
func ShareTraffic(ctx context.Context, a *cli.App, serves string) (end func()) {
	l, path, err := cli.ListenSocket(a.Place, TrafficSuffix)
	if err != nil {
		a.Logger().Debug("junction traffic cannot see this process", "error", err)
		return func() {}
	}
	cli.RemoveStaleSockets(ctx, filepath.Dir(path))
	log := &traffic.Log{}
	a.Launch.Traffic = log
	ctx, cancel := context.WithCancel(ctx)
	came := make(chan struct{}, MaxWatchers)
	var watchers sync.WaitGroup
	watchers.Go(func() {
		places := make(chan struct{}, MaxWatchers)
		cli.AcceptEach(l, func(conn net.Conn) {
			select {
			case places <- struct{}{}:
				watchers.Go(func() {
					defer func() { <-places }()
					ShowTraffic(ctx, log, serves, conn, came)
				})
			default:
				_ = conn.SetDeadline(time.Now().Add(cli.AcceptPause))
				_, _ = conn.Read(make([]byte, 1)) // unread bytes would reset the connection, and the written text would be lost
				_, _ = conn.Write([]byte(tooManyWatch))
				conn.Close()
			}
		})
	})
	if isWatching(filepath.Dir(path)) {
		late := time.NewTimer(firstTime)
		defer late.Stop()
		select {
		case <-came:
		case <-late.C:
		}
	}
	return func() {
		os.Remove(path)
		l.Close()
		cancel()
		watchers.Wait()
	}
}

// ShowTraffic writes messages to a watcher, one on each line, until the connection ends or ctx is
// done. The first line is serves. It sends a value to came when the watcher gets all further
// messages.
func ShowTraffic(ctx context.Context, log *traffic.Log, serves string, conn net.Conn, came chan<- struct{}) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })()
	var wants [1]byte
	_ = conn.SetReadDeadline(time.Now().Add(trafficTime))
	if _, err := conn.Read(wants[:]); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	gone := make(chan struct{})
	go func() { // the watcher sends no more, so Read returns when the connection ends
		defer close(gone)
		_, _ = conn.Read(make([]byte, 1))
		cancel()
	}()
	watch := log.Join(wants[0] == WantsNotes)
	select {
	case came <- struct{}{}:
	default:
	}
	lines := []byte(plaintext.Line(serves, cli.MaxStderrLine) + "\n")
	write := func() error {
		within := trafficTime
		if ctx.Err() != nil {
			within = lastTime
		}
		_ = conn.SetWriteDeadline(time.Now().Add(within))
		_, err := conn.Write(lines)
		lines = lines[:0]
		return err
	}
	if write() != nil {
		cancel() // watch must be called in any case
	}
	_ = watch(ctx, func(events []*traffic.Event) error {
		for _, e := range events {
			lines = append(e.AppendJSON(lines), '\n')
			if len(lines) < maxLines {
				continue
			}
			if err := write(); err != nil {
				return err
			}
		}
		return write()
	})
	conn.Close()
	<-gone
}

// RecordFlag defines the flag --record of commands whose messages can be recorded.
func RecordFlag(a *cli.App, f *pflag.FlagSet) {
	f.StringVar(&a.Flags.Record, "record", "", "record the messages between client and server in `FILE`, or in a new file in a folder (DIR/), without secrets; junction replay serves the recording")
}

// StartRecording opens the file of --record, if the flag is set. The file is closed when the
// command ends. If the flag names a folder, the name of the file begins with server, unless that is
// "". With through, each message is written before it is passed on.
func StartRecording(a *cli.App, command, server string, through bool) error {
	if a.Flags.Record == "" {
		return nil
	}
	f, err := openRecording(a.Path(a.Flags.Record), cmp.Or(fileName(server), "junction"), time.Now())
	if err != nil {
		return fmt.Errorf("--record: %w", err)
	}
	r, err := recording.New(f, recording.Options{Program: "junction " + cli.Version + " " + command, Through: through, OnError: func(err error) {
		a.Screen.Printf("junction: --record %s: %v\n", a.Short(f.Name()), err)
	}})
	if err != nil {
		return fmt.Errorf("--record: %w", errors.Join(err, f.Close()))
	}
	a.Launch.Recorder = r
	a.Launch.AtEnd(&recorded{r, f})
	if f.Name() != a.Path(a.Flags.Record) {
		a.Screen.Printf("Recording to %s\n", a.Short(f.Name()))
	}
	a.Launch.HideVariables(a.Environ()) // programs that the command starts inherit the environment
	return nil
}

// A recorded is a recorder and its file.
type recorded struct {
	recorder *recording.Recorder
	file     *filelock.File
}

// Close writes the waiting messages and closes the file. It ignores errors of writing, which have
// been printed.
func (r *recorded) Close() error {
	_ = r.recorder.Close()
	return r.file.Close()
}

// openRecording opens a new file, or replaces an earlier recording. It returns an error for a file
// that another process records to.
func openRecording(path, name string, now time.Time) (*filelock.File, error) {
	if strings.HasSuffix(path, "/") || strings.HasSuffix(path, string(filepath.Separator)) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
		path = filepath.Join(path, fmt.Sprintf("%s-%s-%d.jsonl", name, now.UTC().Format("20060102-150405"), os.Getpid()))
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file; for a folder with a file for each run, end it with a slash", path)
	}
	f, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrLocked) {
		return nil, fmt.Errorf("another process records to %s; name a folder (DIR/) for a file of each process", path)
	}
	if err != nil {
		return nil, err
	}
	beginning := make([]byte, len(`{"recording":`))
	n, err := io.ReadFull(f, beginning)
	if n > 0 && !bytes.Equal(beginning[:n], []byte(`{"recording":`)) {
		err = fmt.Errorf("%s exists, is not a recording, and is not replaced", path)
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), f.Chmod(0o600))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// fileName replaces characters of a server's name that are not safe in file names.
func fileName(server string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return '-'
	}, plaintext.Beginning(server, 60)), ".-")
}
