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
	StatusTimeout = 2 * time.Second        // limits the time of another junction to send its status
	maxStatus     = 16 << 20               // limits the bytes of a status
	AcceptPause   = 100 * time.Millisecond // after an error of accepting a connection
	statusPause   = time.Second            // between two checks of status --watch
)

// An Instance is the status of a running junction up.
type Instance struct {
	PID      int    `json:"pid"`
	Endpoint string `json:"endpoint"` // URL, or "stdio"
	Folder   string `json:"folder,omitempty"`
	Summary  string `json:"summary"`
	// Shares reports that commands of this user call its servers in place of starting them.
	Shares  bool           `json:"shares,omitempty"`
	Servers []ServerStatus `json:"servers"`
	Tools   ToolsShown     `json:"tools"`
	// ConfigError is the error of the present configuration, while the earlier one stays in use.
	ConfigError string `json:"configError,omitempty"`
	// Awaited is the question about servers of projects that its terminal asks.
	Awaited string `json:"awaited,omitempty"`
	// Problems holds unusable entries of the configuration, and servers without consent.
	Problems []string `json:"problems,omitempty"`
	// Audit holds the reasons why calls are not logged or not exported.
	Audit []string `json:"audit,omitempty"`
}

// A ToolsShown holds how many tools clients see with the mode of --tools.
type ToolsShown struct {
	Mode     string `json:"mode"` // all, search or auto
	Searched bool   `json:"searched"`
	Listed   int    `json:"listed"`
	Of       int    `json:"of"`
}

// ServerStatus is the status of one server of a running junction up.
type ServerStatus struct {
	Name      string    `json:"name"`
	Source    string    `json:"source,omitempty"` // the file that defines it; empty if it ships with junction
	Origin    string    `json:"origin,omitempty"` // the command line or URL, without secrets
	State     string    `json:"state"`
	Failing   bool      `json:"failing,omitempty"` // it failed and has not been connected since
	Note      string    `json:"note,omitempty"`
	Error     string    `json:"error,omitempty"`
	Careful   string    `json:"careful,omitempty"`   // a weakness of a server that works
	Remedy    string    `json:"remedy,omitempty"`    // the remedy for Error or Careful
	Tolerated []string  `json:"tolerated,omitempty"` // violations of the specification in its messages
	Omitted   []string  `json:"omitted,omitempty"`   // operations of its API without a tool, and why
	Revision  string    `json:"revision,omitempty"`
	Server    string    `json:"server,omitempty"`
	Read      time.Time `json:"read,omitzero"` // when a server that is not connected was last read
	Tools     int       `json:"tools"`         // zero for a server that failed
	Prompts   int       `json:"prompts"`
	Resources int       `json:"resources"`
	Templates int       `json:"templates"`
	Running   int       `json:"running"`             // requests
	Leaving   int       `json:"leaving,omitempty"`   // requests that run with an earlier configuration
	Instances int       `json:"instances,omitempty"` // running instances of a server with isolation
	Most      int       `json:"maxInstances,omitempty"`
	Users     []string  `json:"users,omitempty"` // users of the instances
	Renamed   []string  `json:"renamed,omitempty"`
	Withheld  []string  `json:"withheld,omitempty"` // tools withheld until they are approved
	Approval  string    `json:"approval,omitempty"` // command that approves them

	Definitions string `json:"definitions,omitempty"` // changes whenever its definitions change

	Line string `json:"line"` // for the table
}

// StatusFolder returns the folder of the sockets of running processes, which it creates. Only this
// user can enter it.
func StatusFolder(p place.Place) (string, error) {
	cache, err := p.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "junction", "up")
	return dir, os.MkdirAll(dir, 0o700)
}

// AcceptEach calls serve for each connection, until l is closed.
func AcceptEach(l net.Listener, serve func(net.Conn)) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			serve(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			time.Sleep(AcceptPause) // such as too many open files, which is temporary
		}
	}
}

// DialSocket connects to a socket of a process of this user. It removes the socket if nothing listens
// there.
func DialSocket(ctx context.Context, path string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: StatusTimeout}).DialContext(ctx, "unix", path)
	if NotListening(err) {
		os.Remove(path)
	}
	return conn, err
}

// RemoveStaleSockets removes the sockets of processes that ended without removing them. It keeps files with
// other names, such as sockets being created.
//
// It does not connect to sockets of running processes, because that would take a watcher's place.
// It checks for the process again before it removes a socket, because numbers are reused.
func RemoveStaleSockets(ctx context.Context, dir string) {
	files, _ := os.ReadDir(dir) // an unreadable folder is left as it is
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
			conn.Close() // it belongs to a container that shares the folder
		case NotListening(err) && !processRuns(int(pid)):
			os.Remove(path)
		}
	}
}

// processRuns reports whether a process with this number exists, of any user.
func processRuns(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, os.ErrPermission) || runtime.GOOS == "windows" // FindProcess fails there if the process has ended
}

// ListenSocket listens at a socket that only this user can open. Its name is the id of this process
// with ending.
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

// watchStatus prints the status each time it changes, until it is interrupted.
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

// watched returns the text of a status that triggers a new print. Off a terminal, it first clears
// the numbers of running requests in all.
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

// FirstRenamed returns the first renamed names, and the number of others; --json has all.
func FirstRenamed(renamed []string) (text string) {
	for _, line := range renamed[:min(len(renamed), MaxRenamed)] {
		text += "; " + plaintext.Line(line, MaxReason)
	}
	if more := len(renamed) - MaxRenamed; more > 0 {
		text += fmt.Sprintf("; and %d more names (--json shows all)", more)
	}
	return text
}

// A running holds the processes of junction up of this user. It is the output of status --json.
type running struct {
	Instances []Instance `json:"instances"`
	// Silent has the IDs of processes that do not respond, such as stopped ones.
	Silent []int `json:"silent,omitempty"`
}

// showStatus prints the status of all processes. indent is for JSON; empty prints one line.
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
		a.Out.Printf("%s", SourcesText(a.Place, names, files, LineWidth(a.Out))) // in the same order as junction up
		a.Out.Printf("%s", a.Table(rows, 2))
		a.Out.Printf("%s\n", i.Summary)
		for _, line := range i.Remarks() {
			a.Out.Printf("%s\n", plaintext.Line(line, maxRemark))
		}
	}
	return nil
}

// Instances returns the status of every junction up that responds, and removes sockets without a
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

// NotListening reports whether err means that nothing listens. Other errors, such as too many open
// files or a full queue, do not show that.
func NotListening(err error) bool {
	const ofWindows = syscall.Errno(10061) // WSAECONNREFUSED
	return errors.Is(err, syscall.ECONNREFUSED) || runtime.GOOS == "windows" && errors.Is(err, ofWindows)
}

// maxRemark limits the letters of one remark of status.
const maxRemark = 500

// maxOmittedShown limits the operations without a tool that status shows of one server.
const maxOmittedShown = 5

// Remark describes a list that hides tools; empty if clients see all tools.
func (t ToolsShown) Remark() string {
	if !t.Searched {
		return ""
	}
	return fmt.Sprintf("Clients see %s, and find %d by search (--tools %s)", plaintext.Count(t.Listed, "tool"), t.Of, t.Mode)
}

// LoadText describes running requests and instances; empty without any.
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

// Remarks returns lines about problems and other things the user should know.
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

// ControlSuffix ends the name of the socket at which status and consoles reach a junction up. It is
// short because the paths of sockets are limited, and cache folders may be deep.
const ControlSuffix = ".up"

// SendToProcess sends a request to the process at a socket. within limits the time until the response
// begins.
func SendToProcess(path string, req *http.Request, within time.Duration) (*http.Response, error) {
	return (&http.Transport{DisableKeepAlives: true, DisableCompression: true, ResponseHeaderTimeout: within, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return DialSocket(ctx, path)
	}}).RoundTrip(req)
}

// ListenPrivate listens at a socket that only this user can open. The socket gets its name last, because
// other processes remove one that refuses connections. The caller must remove it.
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
	// MaxStderrLine limits the letters of a line of standard error that are shown.
	MaxStderrLine = 200
)
