package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/traffic"
	"github.com/spf13/cobra"
)

const (
	lookPause      = 50 * time.Millisecond // between two looks for processes that began
	maxTrafficLine = 2 << 20               // bytes of one message, with what stands around it
	maxExcerpt     = 2_000                 // characters of a message in one line
)

// A trafficFilter says which messages are shown.
type trafficFilter struct {
	servers        []string // of any if empty
	client, method string
	text           string
	errors         bool
	notes          bool
	count          int // to end after; 0: never
	full           bool
	tapped         int // servers that a host starts through junction from now on; 0: not of junction tap
}

func (a *app) trafficCommand() *cobra.Command {
	var f trafficFilter
	cmd := &cobra.Command{
		Use:   "traffic [PID...]",
		Short: "Show the messages of every junction up, proxy and chat while they go",
		Long: `Show what goes through junction up, proxy and chat, a message a line while it goes,
until Ctrl-C: of all that run under this user and of those that begin, or only of the
processes with these numbers. The number in front is the same for everything that
belongs to one request of a client. Secrets are hidden, as far as names and looks tell.

Nothing is kept: what nobody watches is not seen by anybody. junction up --audit writes
down what was called.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, pid := range args {
				if _, err := strconv.ParseUint(pid, 10, 31); err != nil {
					return usagef("expected the number of a process, got %q; without one, all of them are watched", pid)
				}
			}
			if err := checkWatched(args); err != nil {
				return err
			}
			if err := a.watchTraffic(cmd.Context(), args, f); err != nil {
				return orderly(cmd.Context(), err)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&f.servers, "server", nil, "show only what goes to and comes from the server `NAME`, and the calls of clients that lead there (repeatable)")
	cmd.Flags().StringVar(&f.client, "client", "", "show only what goes to and comes from clients whose name contains `TEXT`, and what is asked of servers for them")
	cmd.Flags().StringVar(&f.method, "method", "", "show only messages of this `METHOD`, such as tools/call, and what answers them")
	cmd.Flags().StringVar(&f.text, "grep", "", "show only messages that contain `TEXT`")
	cmd.Flags().BoolVar(&f.errors, "errors", false, "show only errors, results with isError, and requests without a response")
	cmd.Flags().BoolVar(&f.notes, "notes", false, "show also HTTP headers, what rules decided, and what else messages do not say")
	cmd.Flags().BoolVar(&f.full, "full", false, "print whole messages, below each line")
	cmd.Flags().IntVar(&f.count, "count", 0, "end after `N` messages")
	cmd.Flags().BoolVar(&a.flags.json, "json", false, "print a JSON object a line")
	return cmd
}

// A shownEvent is one message of a process.
type shownEvent struct {
	PID int `json:"pid"`
	traffic.Event
	Busy bool `json:"busy,omitempty"` // no message: the process has enough that watch
}

// watchTraffic shows the messages of processes until enough were shown, or ctx is done.
func (a *app) watchTraffic(ctx context.Context, pids []string, f trafficFilter) error {
	led := &followed{filter: &f, calls: map[callOf]*followedCall{}}
	shown := 0
	err := followTraffic(ctx, pids, trafficFollower{
		notes: f.notes,
		began: func(processes int) {
			if f.tapped > 0 {
				a.screen.Printf("Watching 0 of %s; they appear when the host starts them. Ctrl-C ends.\n", plaintext.Count(f.tapped, "tapped server"))
			} else if processes == 0 {
				a.screen.Printf("No junction up, proxy or chat runs%s; waiting for one.%s\n", of(pids), others(pids))
			} else {
				a.screen.Printf("Watching %s; Ctrl-C ends.\n", plaintext.Count(processes, "process"))
			}
		},
		busy: func(pid int) {
			a.screen.Printf("Process %d is not watched: %d others watch it already.\n", pid, maxWatchers)
		},
		event: func(e shownEvent, several bool) error {
			for _, e := range led.shown(e) {
				if err := a.showEvent(&e, several, f.full); err != nil {
					return err
				}
				if shown++; shown == f.count {
					return errEnough
				}
			}
			return nil
		},
		ended: led.ended,
	})
	if err == errEnough {
		return nil
	}
	return err
}

// errEnough ends watchTraffic.
var errEnough = errors.New("enough was shown")

// A trafficFollower is what followTraffic calls, one function after the other; those that are nil it does without.
type trafficFollower struct {
	notes bool                                   // are wanted, too
	not   int                                    // a process that is not watched in this way; 0: none
	began func(processes int)                    // once, with the number of those that run
	busy  func(pid int)                          // for a process that is not watched, as too many watch it already
	event func(e shownEvent, several bool) error // for each message; several says that there is more than one process
	ended func(pid int)                          // after the last message of a process
}

// followTraffic calls f for the messages of processes, of all without pids, and of those that begin, until f fails or ctx is
// done, and returns why.
func followTraffic(ctx context.Context, pids []string, f trafficFollower) error {
	dir, err := statusFolder()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watched{ctx: ctx, wants: wantsMessages, asked: make(chan reached), events: make(chan shownEvent), ended: make(chan string), asking: map[string]bool{}, seen: map[string]bool{}}
	if f.notes {
		w.wants = wantsNotes
	}
	defer w.readers.Wait()
	defer cancel()
	look := time.NewTicker(lookPause)
	defer look.Stop()
	defer markWatching()()
	if f.not > 0 {
		w.seen[filepath.Join(dir, strconv.Itoa(f.not)+trafficEnd)] = true
	}
	sockets := socketFolder{path: dir}
	w.ask(sockets.unwatched(pids, w.seen))
	for len(w.asking) > 0 && ctx.Err() == nil {
		select {
		case a := <-w.asked:
			w.join(a)
		case <-ctx.Done():
		}
	}
	if f.began != nil {
		f.began(len(w.seen))
	}
	for {
		select {
		case e := <-w.events:
			switch {
			case !e.Busy:
				if err := f.event(e, len(w.seen) > 1); err != nil {
					return err
				}
			case f.busy != nil:
				f.busy(e.PID)
			}
		case a := <-w.asked:
			w.join(a)
		case path := <-w.ended:
			delete(w.seen, path)
			sockets.listed = time.Time{} // it may be there still, or again
			if f.ended != nil {
				f.ended(processOf(path))
			}
		case <-look.C:
			w.ask(sockets.unwatched(pids, w.seen))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// watched are the processes whose messages are read.
type watched struct {
	ctx     context.Context
	wants   byte // what each is asked for
	asked   chan reached
	events  chan shownEvent
	ended   chan string     // sockets of those that ended
	asking  map[string]bool // sockets that have not answered yet; for whoever shows the messages, as is seen
	seen    map[string]bool // sockets
	readers sync.WaitGroup
}

// A reached is a socket that was asked for messages, and whether it shows them from now on.
type reached struct {
	path  string
	shows bool
}

// ask asks more processes for what they show, and waits for none of them: one that is stopped would keep back the messages
// of all others.
func (w *watched) ask(paths []string) {
	for _, path := range paths {
		if w.asking[path] {
			continue
		}
		w.asking[path] = true
		w.readers.Go(func() {
			conn, err := w.dial(path)
			if err == nil {
				defer conn.Close()
			}
			select {
			case w.asked <- reached{path, err == nil}:
			case <-w.ctx.Done():
				return
			}
			if err != nil || readTraffic(w.ctx, conn, path, w.events) {
				return // and is not tried again
			}
			select {
			case w.ended <- path:
			case <-w.ctx.Done():
			}
		})
	}
}

// join takes up what a process answered.
func (w *watched) join(a reached) {
	delete(w.asking, a.path)
	if a.shows {
		w.seen[a.path] = true
	}
}

// dial connects to a process that shows its messages from then on.
func (w *watched) dial(path string) (net.Conn, error) {
	conn, err := dialMine(w.ctx, path)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(w.ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(statusTime))
	_, _ = conn.Write([]byte{w.wants})                                           // whoever cannot be asked does not answer either
	if _, err := io.ReadFull(conn, make([]byte, len(watchBegins))); err != nil { // it ends, or is no junction of this version
		conn.Close()
		return nil, err
	}
	return conn, conn.SetDeadline(time.Time{})
}

func of(pids []string) string {
	if len(pids) == 0 {
		return ""
	}
	return " as " + strings.Join(pids, ", ")
}

// shows reports whether a message is shown.
func (f *trafficFilter) shows(e *traffic.Event) bool {
	if e.Kind == traffic.Dropped {
		return true
	}
	return (f.notes || e.Kind != traffic.Note) && (f.method == "" || e.Method == f.method) &&
		(f.text == "" || bytes.Contains(e.Message, []byte(f.text)) || strings.Contains(e.Fault, f.text)) &&
		(!f.errors || isFault(e))
}

// isFault reports whether a message says that something failed.
func isFault(e *traffic.Event) bool {
	switch e.Kind {
	case traffic.Error, traffic.Failure:
		return true
	case traffic.Response:
		return string(jsonrpc.Get(jsonrpc.Get(e.Message, "result"), "isError")) == "true"
	}
	return false
}

// showEvent prints one message.
func (a *app) showEvent(e *shownEvent, several, full bool) error {
	if a.flags.json {
		return a.printIndented(e, "")
	}
	var b strings.Builder
	b.WriteString(e.Time.Local().Format("15:04:05.000") + "  ")
	if several {
		fmt.Fprintf(&b, "[%d] ", e.PID)
	}
	if e.Kind == traffic.Dropped {
		fmt.Fprintf(&b, "%s missed: they came faster than they could be shown\n", plaintext.Count(e.Count, "message"))
		_, err := a.out.Write([]byte(b.String()))
		return err
	}
	number := ""
	if e.Call > 0 {
		number = "#" + strconv.FormatUint(e.Call, 10)
	}
	fmt.Fprintf(&b, "%-5s %s  ", number, lane(&e.Event))
	b.WriteString(plaintext.Line(strings.TrimRight(gist(&e.Event), " "), maxExcerpt))
	text := b.String()
	if a.out.Terminal() && terminal.Width(text) > a.out.Width() && !full {
		text = plaintext.Line(text, a.out.Width())
	}
	text += "\n"
	if full && len(e.Message) > 0 {
		var pretty bytes.Buffer
		if json.Indent(&pretty, e.Message, "    ", "  ") == nil {
			text += "    " + pretty.String() + "\n"
		}
	}
	_, err := a.out.Write([]byte(text))
	return err
}

// lane says between whom a message goes, and where.
func lane(e *traffic.Event) string {
	arrow := "<-"
	if e.ToServer {
		arrow = "->"
	}
	if e.Kind == traffic.Note {
		arrow = "--"
	}
	if e.Hop == traffic.Server {
		return "junction " + arrow + " " + plaintext.Line(e.Server, 40)
	}
	return plaintext.Line(cmp.Or(e.Client, "a client"), 40) + " " + arrow + " junction"
}

// gist is what a message says, in a few words.
func gist(e *traffic.Event) string {
	words := strings.TrimSpace(e.Method + " " + e.Name)
	switch e.Kind {
	case traffic.Note:
		return words + " " + e.Note + ": " + text(e.Message)
	case traffic.Request, traffic.Notification:
		params := jsonrpc.Get(e.Message, "params")
		if arguments := jsonrpc.Get(params, "arguments"); arguments != nil {
			params = arguments
		} else {
			params = jsonrpc.Without(params, "_meta")
		}
		return words + " " + text(params)
	case traffic.Failure:
		return words + " failed" + took(e) + ": " + e.Fault
	case traffic.Error:
		return words + " error" + took(e) + ": " + text(jsonrpc.Get(e.Message, "error"))
	}
	result := jsonrpc.Get(e.Message, "result")
	if content := jsonrpc.Get(result, "content"); content != nil {
		result = content
	}
	said := " answered"
	if isFault(e) {
		said = " failed"
	}
	return words + said + took(e) + ": " + text(result)
}

// text is JSON in one line; nothing of what says nothing.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "{}" {
		return ""
	}
	return string(raw)
}

func took(e *traffic.Event) string {
	if e.Took <= 0 {
		return ""
	}
	return " after " + e.Took.Round(max(e.Took/1000, 10*time.Microsecond)).String()
}
