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
	StatusTimeout = 2 * time.Second        // time limit for another junction to send its status
	maxStatus     = 16 << 20               // largest size of a status in bytes
	AcceptPause   = 100 * time.Millisecond // pause after an error of Accept
	statusPause   = time.Second            // time between two checks of status --watch
)

// An Instance is the status of a running junction up.
type Instance struct {
	PID      int    `json:"pid"`
	Endpoint string `json:"endpoint"` // URL, or "stdio"
	Folder   string `json:"folder,omitempty"`
	Summary  string `json:"summary"`
	// Shares reports whether commands of this user use its servers instead of starting their own.
	Shares  bool           `json:"shares,omitempty"`
	Servers []ServerStatus `json:"servers"`
	Tools   ToolsShown     `json:"tools"`
	// ConfigError is the error of the current configuration. The previous configuration remains in
	// use.
	ConfigError string `json:"configError,omitempty"`
	// Awaited is the question about servers of projects that is being asked on its terminal.
	Awaited string `json:"awaited,omitempty"`
	// Problems lists unusable entries of the configuration and servers without consent.
	Problems []string `json:"problems,omitempty"`
	// Audit lists reasons why calls are not logged or not exported.
	Audit []string `json:"audit,omitempty"`
}

// A ToolsShown holds the number of tools that clients see, according to the mode of --tools.
type ToolsShown struct {
	Mode     string `json:"mode"` // all, search or auto
	Searched bool   `json:"searched"`
	Listed   int    `json:"listed"`
	Of       int    `json:"of"`
}

// ServerStatus is the status of one server of a running junction up.
type ServerStatus struct {
	Name      string    `json:"name"`
	Source    string    `json:"source,omitempty"` // file that defines it; empty if it ships with junction
	Origin    string    `json:"origin,omitempty"` // command line or URL, without secrets
	State     string    `json:"state"`
	Failing   bool      `json:"failing,omitempty"` // whether it failed and has not connected since
	Note      string    `json:"note,omitempty"`
	Error     string    `json:"error,omitempty"`
	Careful   string    `json:"careful,omitempty"`   // weakness of a server that works
	Remedy    string    `json:"remedy,omitempty"`    // remedy for Error or Careful
	Tolerated []string  `json:"tolerated,omitempty"` // violations of the specification in its messages
	Omitted   []string  `json:"omitted,omitempty"`   // operations of its API that have no tool, with reasons
	Revision  string    `json:"revision,omitempty"`
	Server    string    `json:"server,omitempty"`
	Read      time.Time `json:"read,omitzero"` // time at which an unconnected server was last read
	Tools     int       `json:"tools"`         // 0 for a server that failed
	Prompts   int       `json:"prompts"`
	Resources int       `json:"resources"`
	Templates int       `json:"templates"`
	Running   int       `json:"running"`             // number of running requests
	Leaving   int       `json:"leaving,omitempty"`   // number of requests that still run with an earlier configuration
	Instances int       `json:"instances,omitempty"` // number of instances of a server with isolation
	Most      int       `json:"maxInstances,omitempty"`
	Users     []string  `json:"users,omitempty"` // users of the instances
	Renamed   []string  `json:"renamed,omitempty"`
	Withheld  []string  `json:"withheld,omitempty"` // tools that are hidden until a user approves them
	Approval  string    `json:"approval,omitempty"` // command that approves them

	Definitions string `json:"definitions,omitempty"` // text that changes with its definitions

	Line string `json:"line"` // line for the table
}

// StatusFolder returns the folder of the sockets of running processes, and creates it if it is
// missing. Only this user can access it.
func StatusFolder(p place.Place) (string, error) {
	cache, err := p.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "junction", "up")
	return dir, os.MkdirAll(dir, 0o700)
}

// AcceptEach calls serve for each connection until l is closed.
func AcceptEach(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(AcceptPause) // too many open files, for example, which is temporary
		}
	}
}

// DialSocket connects to the socket of a process of this user. It removes the socket's file if no
// process listens.
func DialSocket(ctx context.Context, path string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: StatusTimeout}).DialContext(ctx, "unix", path)
	if NotListening(err) {
		os.Remove(path)
	}
	return conn, err
}

// RemoveStaleSockets removes the socket files that killed processes have left. It keeps files with
// other names, such as those of sockets that are being created.
//
// It does not connect to sockets of running processes, because the connection would take the place
// of a watcher. Before it removes a file, it checks again that the process does not exist, because
// process ids are reused.
func RemoveStaleSockets(ctx context.Context, dir string) {
	files, _ := os.ReadDir(dir) // an unreadable folder stays unchanged
	for _, f := range files {
		name, ending, _ := strings.Cut(f.Name(), ".")
		pid, err := strconv.ParseUint(name, 10, 31)
		if err != nil || strings.Contains(ending, ".") || processRuns(int(pid)) {
			continue
		}
		path := filepath.Join(dir, f.Name())
		conn, err := (&net.Dialer{Timeout: StatusTimeout}).DialContext(ctx, "unix", path)
		switch {
		case err == nil:
			conn.Close() // a container that shares the folder owns the socket
		case NotListening(err) && !processRuns(int(pid)):
			os.Remove(path)
		}
	}
}

// processRuns reports whether a process with this id exists. It may belong to any user.
func processRuns(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission) || runtime.GOOS == "windows" // on Windows FindProcess fails if the process has ended
}

// ListenSocket listens at a socket that only this user can open. The name of its file is the id of
// this process followed by ending.
func ListenSocket(p place.Place, ending string) (l *net.UnixListener, path string, err error) {
	dir, err := StatusFolder(p)
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, fmt.Sprint(os.Getpid(), ending))
	l, err = ListenPrivate(path)
	return l, path, err
}

// StatusCommand returns the command status.
func (a *App) StatusCommand() *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show every junction up that runs, and its servers",
		Args:  NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if watch {
				return a.watchStatus(cmd.Context())
			}
			all, err := processes(cmd.Context(), a.Place)
			if err != nil {
				return err
			}
			return a.showStatus(all, "  ")
		},
	}
	a.JSONFlag(cmd, running{})
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "keep running, and show it again after each change; with --json one line each time")
	return cmd
}

// clearScreen clears a terminal.
const clearScreen = "\x1b[H\x1b[2J"

// watchStatus prints the status each time it changes, until the user interrupts it.
func (a *App) watchStatus(ctx context.Context) error {
	tick := time.NewTicker(statusPause)
	defer tick.Stop()
	shown := ""
	for {
		all, err := processes(ctx, a.Place)
		if ctx.Err() != nil {
			return IgnoreInterrupt(ctx, nil)
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
			return IgnoreInterrupt(ctx, nil)
		}
	}
}

// watched returns a text that identifies a status. If the text changes, the status is printed
// again. Unless the output is a terminal, watched sets the numbers of running requests in all to
// zero, so that they do not count as changes.
func (a *App) watched(all running) string {
	if !a.Out.Terminal() {
		for _, i := range all.Instances {
			for n := range i.Servers {
				i.Servers[n].Running, i.Servers[n].Leaving = 0, 0
			}
		}
	}
	return fmt.Sprint(all)
}

// FirstRenamed returns a clause with the first renamed names and the number of others.
func FirstRenamed(renamed []string) (text string) {
	for _, line := range renamed[:min(len(renamed), MaxRenamed)] {
		text += "; " + plaintext.Line(line, MaxReason)
	}
	if more := len(renamed) - MaxRenamed; more > 0 {
		text += fmt.Sprintf("; and %d more names (--json shows all)", more)
	}
	return text
}

// A running holds the junction up processes of this user. It is the output of status --json.
type running struct {
	Instances []Instance `json:"instances"`
	// Silent lists the ids of processes that do not respond, for example because they are stopped.
	Silent []int `json:"silent,omitempty"`
}

// showStatus prints the status of all processes. indent is used for JSON; if it is empty, the JSON
// is one line.
func (a *App) showStatus(all running, indent string) error {
	if a.Flags.JSON {
		return a.PrintIndented(all, indent)
	}
	if len(all.Instances)+len(all.Silent) == 0 {
		a.Out.Printf("No junction up is running; start one with: junction up\n")
	}
	for _, pid := range all.Silent {
		a.Out.Printf("The junction up of process %d does not respond. If Ctrl-Z stopped it, fg in its terminal resumes it.\n", pid)
	}
	for n, i := range all.Instances {
		if n > 0 {
			a.Out.Printf("\n")
		}
		a.Out.Printf("%s (process %d, in %s)\n", i.Endpoint, i.PID, a.Short(i.Folder))
		var rows [][]string
		var names []string
		files := map[string]string{}
		for _, s := range i.Servers {
			names, files[s.Name] = append(names, s.Name), s.Source
			rows = append(rows, []string{s.Name, s.Line + AgeText(s.Read) + s.LoadText() + FirstRenamed(s.Renamed)})
		}
		a.Out.Printf("%s", SourcesText(a.Place, names, files, LineWidth(a.Out))) // the same order as in the output of junction up
		a.Out.Printf("%s", a.Table(rows, 2))
		a.Out.Printf("%s\n", i.Summary)
		for _, line := range i.Remarks() {
			a.Out.Printf("%s\n", plaintext.Line(line, maxRemark))
		}
	}
	return nil
}

// Instances returns the status of every junction up that responds. It removes sockets without a
// listener.
func Instances(ctx context.Context, p place.Place) ([]Instance, error) {
	all, err := processes(ctx, p)
	return all.Instances, err
}

func processes(ctx context.Context, p place.Place) (running, error) {
	all := running{Instances: []Instance{}}
	dir, err := StatusFolder(p)
	if err != nil {
		return all, err
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "*"+ControlSuffix))
	if err != nil {
		return all, err
	}
	for _, path := range sockets {
		i, err := FetchInstance(ctx, path)
		pid, number := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ControlSuffix))
		switch {
		case err == nil:
			all.Instances = append(all.Instances, i)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && number == nil:
			all.Silent = append(all.Silent, pid)
		}
	}
	slices.SortFunc(all.Instances, func(a, b Instance) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all, nil
}

// FetchInstance requests the status of the process at a socket.
func FetchInstance(ctx context.Context, path string) (i Instance, err error) {
	ctx, cancel := context.WithTimeout(ctx, StatusTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://junction/api/status", nil)
	if err != nil {
		return i, err
	}
	resp, err := SendToProcess(path, req, StatusTimeout)
	if err != nil {
		return i, err
	}
	defer resp.Body.Close()
	return i, json.NewDecoder(io.LimitReader(resp.Body, maxStatus)).Decode(&i)
}

// NotListening reports whether err means that no process listens at a socket. Other errors, such as
// too many open files or a full queue, do not mean that.
func NotListening(err error) bool {
	const ofWindows = syscall.Errno(10061) // WSAECONNREFUSED
	return errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" && errors.Is(err, ofWindows)
}

// maxRemark is the largest number of characters in a remark.
const maxRemark = 500

// maxOmittedShown is the largest number of operations without a tool that status prints for a
// server.
const maxOmittedShown = 5

// Remark describes a list of tools that hides some. It returns "" if clients see all tools.
func (t ToolsShown) Remark() string {
	if !t.Searched {
		return ""
	}
	return fmt.Sprintf("Clients see %s, and find %d by search (--tools %s)", plaintext.Count(t.Listed, "tool"), t.Of, t.Mode)
}

// LoadText describes running requests and instances. It returns "" if there are none.
func (s *ServerStatus) LoadText() (text string) {
	if s.Most > 0 {
		text = fmt.Sprintf("; %d of %s", s.Instances, plaintext.Count(s.Most, "instance"))
		if len(s.Users) > 0 {
			text += " for " + plaintext.FirstNames(s.Users)
		}
	}
	if s.Running > 0 {
		text += "; " + plaintext.Count(s.Running, "request") + " running"
	}
	if s.Leaving > 0 {
		text += "; " + plaintext.Count(s.Leaving, "request") + " still running with the earlier configuration"
	}
	return text
}

// Remarks returns lines about problems and other conditions that the user should know.
func (i *Instance) Remarks() (lines []string) {
	if i.ConfigError != "" {
		lines = append(lines, "The configuration cannot be used, so the earlier servers keep running: "+i.ConfigError)
	}
	if i.Awaited != "" {
		lines = append(lines, "The configuration changed, and its terminal asks "+i.Awaited+"; the earlier servers keep running until you answer")
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
			lines = append(lines, fmt.Sprintf("Deviations from the specification that Junction tolerates, %s:", s.Name))
		}
		for _, line := range s.Tolerated {
			lines = append(lines, "  "+plaintext.Line(line, maxRemark))
		}
		if n := len(s.Omitted); n > 0 {
			lines = append(lines, fmt.Sprintf("Not offered as tools, %s: %s", s.Name, plaintext.Count(n, "operation")))
			for _, line := range s.Omitted[:min(n, maxOmittedShown)] {
				lines = append(lines, "  "+line)
			}
			if n > maxOmittedShown {
				lines = append(lines, fmt.Sprintf("  and %d more (--json shows all)", n-maxOmittedShown))
			}
		}
		if n := len(s.Withheld); n > 0 {
			lines = append(lines, fmt.Sprintf("Withheld until approved: %s of %s; %s", plaintext.FirstNames(s.Withheld), s.Name, s.Approval))
		}
	}
	if line := i.Tools.Remark(); line != "" {
		lines = append(lines, line)
	}
	return lines
}

// ControlSuffix is the ending of the name of a junction up's control socket. It is short because
// the length of a socket's path is limited and the cache folder may have a long path.
const ControlSuffix = ".up"

// SendToProcess sends a request to the process at a socket. within is the time limit until the
// response begins.
func SendToProcess(path string, req *http.Request, within time.Duration) (*http.Response, error) {
	return (&http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: within, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialSocket(ctx, path)
	}}).RoundTrip(req)
}

// ListenPrivate listens at a socket that only this user can open. The file gets its final name
// after it listens, because other processes remove sockets that refuse connections. The caller must
// remove the file.
func ListenPrivate(path string) (*net.UnixListener, error) {
	temp := path + ".new"
	_ = os.Remove(temp) // left by a killed process
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
	// MaxStderrLine is the largest number of characters shown of a line of standard error.
	MaxStderrLine = 200
)
