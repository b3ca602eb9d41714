package watch

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/live"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/traffic"
	"github.com/spf13/cobra"
)

const (
	lookPause      = 50 * time.Millisecond // time between two checks for new processes
	MaxTrafficLine = 2 << 20               // largest size in bytes of a message with its envelope
	maxExcerpt     = 2_000                 // largest number of characters of a message in one line
)

// A TrafficFilter selects messages. The tags are those of [fields.Params].
type TrafficFilter struct {
	Servers []string `name:"server" doc:"show only messages of the server NAME, and both sides of a proxy for it (repeatable)"`
	Method  string   `doc:"show only messages of this METHOD, such as tools/call, and their responses"`
	Text    string   `name:"grep" doc:"show only messages that contain TEXT"`
	Errors  bool     `doc:"show only errors, results with isError, and requests without a response"`
	Notes   bool     `doc:"show notes, too: HTTP headers, decisions of rules and other facts that messages lack"`
	Full    bool     `doc:"print the whole message below each line"`
	Count   int      `doc:"end after N messages"` // 0 means no limit
}

// trafficFilters are the flags of a [TrafficFilter].
var trafficFilters = fields.ParamsOf[TrafficFilter]()

// TrafficCommand returns the command traffic.
func TrafficCommand(a *cli.App) *cobra.Command {
	var chosen func(*TrafficFilter) error
	cmd := &cobra.Command{
		Use:     "traffic [PID…]",
		Aliases: []string{"watch"},
		Short:   "Watch messages that go through Junction (for other hosts: host tap)",
		Long: `Show the messages of junction up, proxy and chat from now on: of all processes of this
user, also new ones, or only of the processes with these numbers.

A terminal shows one line a call. Enter opens a call, q quits, ? shows the keys. Without a
terminal, and with --json, --full or --count, junction prints one line a message, until
Ctrl-C. Messages of one client request have the same number in front. Secrets are hidden
if their names or forms show them.

For messages of hosts that do not use Junction, run junction host tap. traffic stores
nothing. Earlier calls are in junction audit query, if a log is kept: junction up --audit,
or "audit" in its settings.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, pid := range args {
				if _, err := strconv.ParseUint(pid, 10, 31); err != nil {
					return cli.Usagef("expected the number of a process, got %q; without a number, junction watches all processes", pid)
				}
			}
			var f TrafficFilter
			if err := chosen(&f); err != nil {
				return &cli.UsageError{Err: err}
			}
			watch := func(ctx context.Context, pids []string, f TrafficFilter) error {
				return PrintTraffic(ctx, a, pids, 0, f)
			}
			if !a.Flags.JSON && !f.Full && f.Count == 0 && a.IsInteractive() {
				watch = func(ctx context.Context, pids []string, f TrafficFilter) error { return watchCalls(ctx, a, pids, f) }
			}
			if err := watch(cmd.Context(), args, f); err != nil {
				return cli.IgnoreInterrupt(cmd.Context(), err)
			}
			return nil
		},
	}
	chosen = trafficFilters.Flags(cmd.Flags())
	a.JSONFlag(cmd, &ShownEvent{})
	return cmd
}

// A ShownEvent is a message of a process.
type ShownEvent struct {
	PID int `json:"pid"`
	traffic.Event
	Busy bool `json:"busy,omitempty"` // not a message; the process has too many watchers

	Serves string `json:"-"` // only server of the process; may be empty
}

// PrintTraffic prints the messages of processes until the count of the filter is reached or ctx is
// done. tapped is the number of servers that a host will start through junction host tap, or 0.
func PrintTraffic(ctx context.Context, a *cli.App, pids []string, tapped int, f TrafficFilter) error {
	shown := 0
	err := FollowTraffic(ctx, a.Place, pids, TrafficFollower{
		notes: f.Notes,
		Began: func(processes int) error { return reportWatching(a, pids, tapped, processes) },
		busy:  func(pid int) { printBusy(a, pid) },
		Event: func(e ShownEvent, several bool) error {
			if !f.Shows(&e) {
				return nil
			}
			if err := showEvent(a, &e, several, f.Full); err != nil {
				return err
			}
			if shown++; shown == f.Count {
				return errEnough
			}
			return nil
		},
	})
	if err == errEnough {
		return nil
	}
	return err
}

// watchCalls shows the calls of processes on the whole terminal. It returns when the user quits or
// ctx is done.
func watchCalls(ctx context.Context, a *cli.App, pids []string, f TrafficFilter) error {
	ui := live.New(live.Options{Place: a.Place, In: a.Stdin, Out: a.Stdout})
	undo := a.Screen.Divert(ui.Print)
	following, end := context.WithCancelCause(ctx)
	shown := make(chan error, 1)
	go func() {
		err := ui.Run(following)
		end(errEnough)
		shown <- err
	}()
	err := FollowTraffic(following, a.Place, pids, TrafficFollower{
		notes: true,
		Began: func(processes int) error { return reportWatching(a, pids, 0, processes) },
		busy:  func(pid int) { printBusy(a, pid) },
		Event: func(e ShownEvent, _ bool) error {
			ui.Event(live.Event{PID: e.PID, Shown: f.Shows(&e), Event: e.Event})
			return nil
		},
	})
	end(err)
	fault := <-shown
	undo()
	if err != errEnough && ctx.Err() == nil {
		return err
	}
	a.Screen.Printf("%s.\n", ui.Summary())
	return cmp.Or(fault, ctx.Err())
}

// earlierCalls tells where calls are that were made before traffic began to watch.
const earlierCalls = "Earlier calls: junction audit query, if a log is kept.\n"

// reportWatching prints the number of watched processes. It returns an error if one of pids is not
// running.
func reportWatching(a *cli.App, pids []string, tapped, processes int) error {
	switch {
	case tapped > 0:
		a.Screen.Printf("Watching 0 of %s; they appear when the host starts them. Ctrl-C ends.\n", plaintext.Count(tapped, "tapped server"))
	case processes < len(pids):
		return fmt.Errorf("some of %s are not a running junction up, proxy or chat; without a number, junction watches all of them", strings.Join(pids, ", "))
	case processes == 0:
		a.Screen.Printf("No junction up, proxy or chat is running; waiting for one. " + earlierCalls)
	default:
		a.Screen.Printf("Watching %s from now on; Ctrl-C ends. "+earlierCalls, plaintext.Count(processes, "process"))
	}
	return nil
}

// printBusy prints that a process has too many watchers.
func printBusy(a *cli.App, pid int) {
	a.Screen.Printf("Process %d is not watched: %d others watch it already.\n", pid, reach.MaxWatchers)
}

// errEnough ends [PrintTraffic].
var errEnough = errors.New("all requested messages were shown")

// Shows reports whether the filter selects a message.
func (f *TrafficFilter) Shows(e *ShownEvent) bool {
	if e.Kind == traffic.Dropped {
		return true
	}
	return (len(f.Servers) == 0 || slices.Contains(f.Servers, e.Serves) || e.Hop == traffic.Server && slices.Contains(f.Servers, e.Server)) &&
		(f.Notes || e.Kind != traffic.Note) && (f.Method == "" || e.Method == f.Method) &&
		(f.Text == "" || bytes.Contains(e.Message, []byte(f.Text)) || strings.Contains(e.Fault, f.Text)) &&
		(!f.Errors || e.Failed())
}

// showEvent prints one message.
func showEvent(a *cli.App, e *ShownEvent, several, full bool) error {
	if a.Flags.JSON {
		return a.PrintIndented(e, "")
	}
	var b strings.Builder
	b.WriteString(e.Time.Local().Format("15:04:05.000") + "  ")
	if several {
		fmt.Fprintf(&b, "[%d] ", e.PID)
	}
	if e.Kind == traffic.Dropped {
		fmt.Fprintf(&b, "%s missed: they came faster than they could be shown\n", plaintext.Count(e.Count, "message"))
		_, err := a.Out.Write([]byte(b.String()))
		return err
	}
	number := ""
	if e.Call > 0 {
		number = "#" + strconv.FormatUint(e.Call, 10)
	}
	fmt.Fprintf(&b, "%-5s %s  ", number, live.Lane(&e.Event))
	b.WriteString(plaintext.Line(strings.TrimRight(Summary(&e.Event), " "), maxExcerpt))
	text := b.String()
	if a.Out.Terminal() && terminal.Width(text) > a.Out.Width() && !full {
		text = plaintext.Line(text, a.Out.Width())
	}
	text += "\n"
	if full && len(e.Message) > 0 {
		var pretty bytes.Buffer
		if json.Indent(&pretty, e.Message, "    ", "  ") == nil {
			text += "    " + pretty.String() + "\n"
		}
	}
	_, err := a.Out.Write([]byte(text))
	return err
}

// Summary returns a short text for a message.
func Summary(e *traffic.Event) string {
	words := strings.TrimSpace(e.Method + " " + e.Name)
	if e.Legacy {
		return words + " refused" + took(e) + ": a legacy server"
	}
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
	if e.Failed() {
		said = " failed"
	}
	return words + said + took(e) + ": " + text(result)
}

// text returns JSON as a string, or "" for an empty object.
func text(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "{}" {
		return ""
	}
	return string(raw)
}

// took returns a clause with the time until the response.
func took(e *traffic.Event) string {
	if e.Took <= 0 {
		return ""
	}
	return " after " + e.Took.Round(max(e.Took/1000, 10*time.Microsecond)).String()
}
