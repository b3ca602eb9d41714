package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/spf13/cobra"
)

const (
	StatusTime  = 2 * time.Second        // how long another junction may take to say its status
	maxStatus   = 16 << 20               // bytes of it
	AcceptPause = 100 * time.Millisecond // after a connection that could not be accepted
	statusPause = time.Second            // between two looks of status --watch
)

// An Instance is a junction up that runs, as status shows it.
type Instance struct {
	PID      int    `json:"pid"`
	Endpoint string `json:"endpoint"` // its URL, or "stdio"
	Folder   string `json:"folder,omitempty"`
	Summary  string `json:"summary"`
	// Shares says that commands of this user call its servers in place of starting them.
	Shares  bool           `json:"shares,omitempty"`
	Servers []ServerStatus `json:"servers"`
	Tools   ToolsShown     `json:"tools"`
	// ConfigError says why the configuration as it is now cannot be used, so that what was there before goes on.
	ConfigError string `json:"configError,omitempty"`
	// Awaited is what its terminal asks about servers of projects, before they are used.
	Awaited string `json:"awaited,omitempty"`
	// Problems are entries of the configuration that cannot be used, and servers that nobody agreed to.
	Problems []string `json:"problems,omitempty"`
	// Audit says why calls are not written down, or not exported.
	Audit []string `json:"audit,omitempty"`
}

// A ToolsShown says how many tools clients see in the list, with --tools.
type ToolsShown struct {
	Mode     string `json:"mode"` // all, search or auto
	Searched bool   `json:"searched"`
	Listed   int    `json:"listed"`
	Of       int    `json:"of"`
}

type ServerStatus struct {
	Name      string    `json:"name"`
	Source    string    `json:"source,omitempty"` // the file that defines it; empty for one that ships with junction
	Origin    string    `json:"origin,omitempty"` // the command line or URL, without secrets
	State     string    `json:"state"`
	Failing   bool      `json:"failing,omitempty"` // it failed and was not connected to since
	Note      string    `json:"note,omitempty"`
	Error     string    `json:"error,omitempty"`
	Careful   string    `json:"careful,omitempty"`   // what works with junction, but not as it should
	Remedy    string    `json:"remedy,omitempty"`    // what mends either
	Tolerated []string  `json:"tolerated,omitempty"` // what its messages have that the specification forbids
	Omitted   []string  `json:"omitted,omitempty"`   // operations of its API that are no tools, and why
	Revision  string    `json:"revision,omitempty"`
	Server    string    `json:"server,omitempty"`
	Read      time.Time `json:"read,omitzero"` // when a server that is not connected was last asked for what it offers
	Tools     int       `json:"tools"`         // none of a server that failed
	Prompts   int       `json:"prompts"`
	Resources int       `json:"resources"`
	Templates int       `json:"templates"`
	Running   int       `json:"running"`             // requests
	Leaving   int       `json:"leaving,omitempty"`   // those that run on it as it was configured before
	Instances int       `json:"instances,omitempty"` // that run of one with isolation
	Most      int       `json:"maxInstances,omitempty"`
	Users     []string  `json:"users,omitempty"` // for whom they run
	Renamed   []string  `json:"renamed,omitempty"`
	Withheld  []string  `json:"withheld,omitempty"` // until they are approved
	Approval  string    `json:"approval,omitempty"` // the command that does

	Definitions string `json:"definitions,omitempty"` // another text whenever what it defines is another

	Line string `json:"line"` // as the table shows it
}

// StatusFolder is where those that run can be asked for their status. Only this
// user can enter it.
func StatusFolder(p place.Place) (string, error) {
	cache, err := p.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "junction", "up")
	return dir, os.MkdirAll(dir, 0o700)
}

// AcceptEach has serve get everybody who connects, until l is closed.
func AcceptEach(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(AcceptPause) // such as too many open files, which passes
		}
	}
}

// DialMine connects to a socket of a process of this user. One whose process is gone is removed.
func DialMine(ctx context.Context, path string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: StatusTime}).DialContext(ctx, "unix", path)
	if NotListening(err) {
		os.Remove(path)
	}
	return conn, err
}

// RemoveLeft removes the sockets that processes left which are gone, whatever asks at them: one that was killed removes none, and
// so did those of older versions. What has another name, such as a socket that is about to get its own, stays. Nobody is asked whose
// process runs, as that would take the place of one who watches it; it is looked for again before its socket is removed, as it may
// have the number of the one that is gone.
func RemoveLeft(ctx context.Context, dir string) {
	files, _ := os.ReadDir(dir) // of a folder that cannot be read nothing is removed
	for _, f := range files {
		name, ending, _ := strings.Cut(f.Name(), ".")
		pid, err := strconv.ParseUint(name, 10, 31)
		if err != nil || strings.Contains(ending, ".") || processRuns(int(pid)) {
			continue
		}
		path := filepath.Join(dir, f.Name())
		conn, err := (&net.Dialer{Timeout: StatusTime}).DialContext(ctx, "unix", path)
		switch {
		case err == nil:
			conn.Close() // of a container that shares the folder
		case NotListening(err) && !processRuns(int(pid)):
			os.Remove(path)
		}
	}
}

// processRuns reports whether there is a process of this number, whosever it is.
func processRuns(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission) || runtime.GOOS == "windows" // which finds none that is gone
}

// ListenForMe opens a socket that only this user can reach, with this process's id as its name and an ending.
func ListenForMe(p place.Place, ending string) (l *net.UnixListener, path string, err error) {
	dir, err := StatusFolder(p)
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, fmt.Sprint(os.Getpid(), ending))
	l, err = BindUnix(path)
	return l, path, err
}

func (a *App) StatusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every junction up that runs, and its servers",
		Args:  NoMore,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return a.watchStatus(cmd.Context())
			}
			all, err := Instances(cmd.Context(), a.Place)
			if err != nil {
				return err
			}
			return a.showStatus(all, "  ")
		},
	}
	a.JSONFlag(cmd, instancesShown{})
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "go on, and show it again when something changed; with --json one line each time")
	return cmd
}

// clearScreen has a terminal begin anew.
const clearScreen = "\x1b[H\x1b[2J"

// watchStatus shows the status until it is interrupted, each time that it changed.
func (a *App) watchStatus(ctx context.Context) error {
	tick := time.NewTicker(statusPause)
	defer tick.Stop()
	shown := ""
	for {
		all, err := Instances(ctx, a.Place)
		if ctx.Err() != nil {
			return Orderly(ctx, nil)
		}
		if err != nil {
			return err
		}
		if now := a.watched(all); now != shown {
			switch {
			case a.Flags.JSON:
			case a.Out.Terminal():
				fmt.Fprint(a.Stdout, clearScreen)
			case shown != "":
				a.Out.Printf("\n")
			}
			if err := a.showStatus(all, ""); err != nil {
				return err
			}
			shown = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Orderly(ctx, nil)
		}
	}
}

// watched is what of a status is shown again when it is another: what runs at the moment only on a screen.
func (a *App) watched(all []Instance) string {
	if !a.Out.Terminal() {
		for _, i := range all {
			for n := range i.Servers {
				i.Servers[n].Running, i.Servers[n].Leaving = 0, 0
			}
		}
	}
	return fmt.Sprint(all)
}

// SomeRenamed are the first of the names that are not what they should be; --json has all.
func SomeRenamed(renamed []string) (text string) {
	for _, line := range renamed[:min(len(renamed), MaxRenamed)] {
		text += "; " + plaintext.Line(line, MaxReason)
	}
	if more := len(renamed) - MaxRenamed; more > 0 {
		text += fmt.Sprintf("; and %d more names (--json shows all)", more)
	}
	return text
}

// An instancesShown is what status --json prints.
type instancesShown struct {
	Instances []Instance `json:"instances"`
}

// showStatus prints the status of all that run; indent is that of JSON, none for one line.
func (a *App) showStatus(all []Instance, indent string) error {
	if a.Flags.JSON {
		return a.PrintIndented(instancesShown{all}, indent)
	}
	if len(all) == 0 {
		a.Out.Printf("No junction up is running; start one with: junction up\n")
	}
	for n, i := range all {
		if n > 0 {
			a.Out.Printf("\n")
		}
		a.Out.Printf("%s (process %d, in %s)\n", i.Endpoint, i.PID, a.Short(i.Folder))
		var rows [][]string
		var names []string
		files := map[string]string{}
		for _, s := range i.Servers {
			names, files[s.Name] = append(names, s.Name), s.Source
			rows = append(rows, []string{s.Name, s.Line + AsOf(s.Read) + s.Busy() + SomeRenamed(s.Renamed)})
		}
		a.Out.Printf("%s", SourcesText(a.Place, names, files, LineWidth(a.Out))) // where junction up has them, too
		a.Out.Printf("%s", a.Table(rows, 2))
		a.Out.Printf("%s\n", i.Summary)
		for _, line := range i.Remarks() {
			a.Out.Printf("%s\n", plaintext.Line(line, maxRemark))
		}
	}
	return nil
}

// Instances asks all that run. What nobody answers at any more is removed.
func Instances(ctx context.Context, p place.Place) ([]Instance, error) {
	dir, err := StatusFolder(p)
	if err != nil {
		return nil, err
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "*"+ControlEnd))
	if err != nil {
		return nil, err
	}
	all := []Instance{}
	for _, path := range sockets {
		i, err := AskInstance(ctx, path)
		if err == nil {
			all = append(all, i)
		}
	}
	slices.SortFunc(all, func(a, b Instance) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all, nil
}

func AskInstance(ctx context.Context, path string) (i Instance, err error) {
	ctx, cancel := context.WithTimeout(ctx, StatusTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://junction/api/status", nil)
	if err != nil {
		return i, err
	}
	resp, err := AskProcess(path, req, StatusTime)
	if err != nil {
		return i, err
	}
	defer resp.Body.Close()
	return i, json.NewDecoder(io.LimitReader(resp.Body, maxStatus)).Decode(&i)
}

// NotListening reports whether nobody listens at a socket. Another error, such as too many
// open files or a queue that is full, says nothing of who does.
func NotListening(err error) bool {
	const ofWindows = syscall.Errno(10061) // WSAECONNREFUSED
	return errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" && errors.Is(err, ofWindows)
}

// maxRemark is how much of one remark status shows, in letters.
const maxRemark = 500

// maxOmittedShown is how many operations of one server that are no tools status shows.
const maxOmittedShown = 5

// Remark says it for people; empty where they see all.
func (t ToolsShown) Remark() string {
	if !t.Searched {
		return ""
	}
	return fmt.Sprintf("Clients see %s, and find %d by search (--tools %s)", plaintext.Count(t.Listed, "tool"), t.Of, t.Mode)
}

// Busy says how many requests run, and how many instances of whom; empty where there is nothing to say.
func (s *ServerStatus) Busy() (text string) {
	if s.Most > 0 {
		text = fmt.Sprintf("; %d of %s", s.Instances, plaintext.Count(s.Most, "instance"))
		if len(s.Users) > 0 {
			text += " for " + SomeNames(s.Users)
		}
	}
	if s.Running > 0 {
		text += "; " + plaintext.Count(s.Running, "request") + " running"
	}
	if s.Leaving > 0 {
		text += "; " + plaintext.Count(s.Leaving, "request") + " still running on it as it was configured before"
	}
	return text
}

// Remarks are lines about what is not as a person would expect it.
func (i *Instance) Remarks() (lines []string) {
	if i.ConfigError != "" {
		lines = append(lines, "The configuration cannot be used as it is now, so the servers from before keep running: "+i.ConfigError)
	}
	if i.Awaited != "" {
		lines = append(lines, "The configuration changed, and its terminal asks "+i.Awaited+"; the servers from before keep running until it is answered")
	}
	for _, problem := range i.Problems {
		lines = append(lines, "Not used: "+problem)
	}
	lines = append(lines, i.Audit...)
	for _, s := range i.Servers {
		if s.Careful != "" {
			lines = append(lines, fmt.Sprintf("Careful, %s: %s", s.Name, s.Careful))
		}
		if len(s.Tolerated) > 0 {
			lines = append(lines, fmt.Sprintf("Read although the specification has it otherwise, %s:", s.Name))
		}
		for _, line := range s.Tolerated {
			lines = append(lines, "  "+plaintext.Line(line, maxRemark))
		}
		if n := len(s.Omitted); n > 0 {
			lines = append(lines, fmt.Sprintf("No tools of %s, as they cannot be: %s", s.Name, plaintext.Count(n, "operation")))
			for _, line := range s.Omitted[:min(n, maxOmittedShown)] {
				lines = append(lines, "  "+line)
			}
			if n > maxOmittedShown {
				lines = append(lines, fmt.Sprintf("  and %d more (--json shows all)", n-maxOmittedShown))
			}
		}
		if n := len(s.Withheld); n > 0 {
			lines = append(lines, fmt.Sprintf("Withheld until approved: %s of %s; %s", SomeNames(s.Withheld), s.Name, s.Approval))
		}
	}
	if line := i.Tools.Remark(); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// ControlEnd ends the name of the socket at which junction status and this user's console ask a junction up, and consoles control it.
// It is short, as names of sockets have a limit, and caches of people may lie deep.
const ControlEnd = ".up"

// AskProcess sends a request to the junction up that listens at a socket, which may take so long to begin its answer.
func AskProcess(path string, req *http.Request, within time.Duration) (*http.Response, error) {
	return (&http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: within, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialMine(ctx, path)
	}}).RoundTrip(req)
}

// BindUnix listens at a file that only this user can open. It gets its name when it listens and nobody else can open it any
// more: one that refuses is taken for what a dead process left. Who listens removes it.
func BindUnix(path string) (*net.UnixListener, error) {
	temp := path + ".new"
	_ = os.Remove(temp) // of a process that was killed
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(temp, 0o600); err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

const (
	// MaxSaid is how much of a line of standard error is shown, in letters.
	MaxSaid = 200
)
