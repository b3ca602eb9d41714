package up

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/console/reply"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/traces"
	"github.com/junction-mcp/junction/up/layer"
)

// maxSettings is the largest number of bytes of the settings of a running junction up.
const maxSettings = 16 << 20

// A Checked is the output of up --check --json.
type Checked struct {
	File     string           `json:"file,omitempty"` // file of the settings
	Faults   []string         `json:"faults"`
	Settings []CheckedSetting `json:"settings"`
	Running  []CheckedRunning `json:"running"`
}

// A CheckedSetting is a setting that has a value or a default.
type CheckedSetting struct {
	Setting string          `json:"setting"`
	Value   json.RawMessage `json:"value"`          // without secrets
	From    string          `json:"from,omitempty"` // flag, FILE:LINE or default
	Holds   string          `json:"holds"`          // when a change takes effect
}

// A CheckedRunning is a running junction up with the same settings file or address.
type CheckedRunning struct {
	PID      int             `json:"pid"`
	Endpoint string          `json:"endpoint"`
	Changes  []CheckedChange `json:"changes"`
}

// A CheckedChange is a difference to a running junction up.
type CheckedChange struct {
	Changed string `json:"changed"` // name of a setting, or "server NAME"
	Holds   string `json:"holds"`
}

// A checking collects the faults of a configuration without starting anything.
type checking struct {
	app     *cli.App
	options Options
	set     *config.Set
	entries []launch.Entry
	now     *settings.Settings
	from    string // file of the settings
	shown   Checked
	held    []string // addresses of the running junction up that it is compared with
}

// fault records an error, unless it is nil.
func (c *checking) fault(err error) {
	if err != nil {
		c.shown.Faults = append(c.shown.Faults, err.Error())
	}
}

// checkUp checks everything that a start reads, and prints the effective settings.
func checkUp(ctx context.Context, a *cli.App, o Options) error {
	c := &checking{app: a, options: o, shown: Checked{Faults: []string{}, Settings: []CheckedSetting{}, Running: []CheckedRunning{}}}
	c.read(ctx)
	if c.now != nil {
		c.settings(ctx)
		c.list()
		c.fault(c.running(ctx))
		c.tryAddresses()
		c.tryAudit()
	}
	if err := c.print(); err != nil || len(c.shown.Faults) == 0 {
		return err
	}
	return &cli.ExitError{Code: cli.ExitConnection} // as of a start with this configuration
}

// read reads the configuration and the entries of its servers.
func (c *checking) read(ctx context.Context) {
	read, err := c.app.Launch.Read()
	c.set, c.entries = read.Set, read.Entries
	c.fault(err)
	if c.set == nil {
		return
	}
	for _, p := range c.set.Problems() {
		c.fault(reach.Unusable(p, c.set))
	}
	for _, e := range c.entries {
		if d := e.Definition; d != nil && !d.Disabled && !launch.NeedsInput(d) { // an input is asked for at the start
			s, err := d.Resolve(ctx)
			if err == nil && s.Command != "" && !launch.Startable(c.app.Place, s) {
				err = fmt.Errorf("server %q: %q is not found in PATH", e.Name, s.Command)
			}
			c.fault(err)
		}
	}
	s, from, err := c.app.Launch.Settings(c.set)
	if err != nil {
		c.fault(err)
		return
	}
	c.from, c.shown.File = from, from
	_, err = reach.SelectServers(c.entries, c.set, c.options.Names)
	c.fault(err)
	c.now, c.options.Front, err = c.options.Settle(s, from)
	c.fault(err)
}

// settings checks what the settings name: files, addresses, secrets, rules, servers and roles.
func (c *checking) settings(ctx context.Context) {
	a, o := c.app, &c.options
	if o.TLS.Encrypts() && o.check() == nil {
		_, err := openCertificate(o.TLS, a.Place, a.Logger(), o.tlsMember)
		c.fault(err)
	}
	var at net.Addr
	if path, is := strings.CutPrefix(o.HTTP, settings.UnixPrefix); is {
		at = &net.UnixAddr{Name: path, Net: "unix"}
	} else if !o.Stdio {
		tcp, err := net.ResolveTCPAddr("tcp", o.HTTP)
		if c.fault(located("listen.http", err)); err == nil {
			at = tcp
		}
	}
	if o.Admin != "" {
		_, err := o.AdminReach()
		c.fault(err)
		if err == nil && o.Admin == o.HTTP && !strings.HasSuffix(o.Admin, ":0") {
			c.fault(fmt.Errorf("listen.admin: %s is the address of listen.http: name another port", o.Admin))
		}
	}
	if at := c.now.Telemetry.OTLP; at != "" {
		_, err := traces.Exporter(at, traces.Options{})
		c.fault(located("telemetry.otlp", err))
	}
	_, err := o.sharing(ctx, a, c.now, c.from)
	c.fault(err)
	c.fault(reach.CheckShared(ctx, a, c.now, c.from))
	c.fault(o.checkAccess(ctx, a, at))
	for _, e := range c.entries {
		if d := e.Definition; d != nil && !d.Disabled && (len(o.Names) == 0 || slices.Contains(o.Names, e.Name)) {
			c.fault(o.checkUserHeader(e, c.now.Servers))
		}
	}
	for _, line := range unknown(c.now, launch.ConfiguredNames(c.set, c.entries)) {
		c.shown.Faults = append(c.shown.Faults, a.Short(c.from)+": "+line)
	}
	p, err := layer.Check(c.now, (&Served{App: a, Options: *o}).layerOptions(c.now, c.from))
	c.fault(err)
	if err == nil {
		c.unmatched(ctx, p)
	}
}

// unmatched records rules and patterns that match nothing of the definitions that are remembered.
func (c *checking) unmatched(ctx context.Context, p *layer.Plan) {
	w := &reach.Vocabulary{Servers: launch.ConfiguredNames(c.set, c.entries), Known: map[string]*reach.Offering{}}
	for _, e := range c.entries {
		if d := reach.StoredDefinitions(ctx, e, c.app.Store()); d != nil {
			w.Known[e.Name] = reach.NewOffering(e.Name, d, c.now.Servers[e.Name])
		}
	}
	for _, profile := range slices.Sorted(maps.Keys(p.Books)) {
		for _, f := range p.Books[profile].Files {
			c.shown.Faults = append(c.shown.Faults, w.UnmatchedRules(f.Rules)...)
			c.shown.Faults = append(c.shown.Faults, unknownRoles(f.Rules, c.now.Roles)...)
		}
	}
	for _, line := range w.UnmatchedSettings(c.now) {
		c.shown.Faults = append(c.shown.Faults, c.app.Short(c.from)+": "+line)
	}
}

// checkAccess checks what authentication needs, without the authorization server itself. The
// address is nil if it is not known.
func (f *Front) checkAccess(ctx context.Context, a *cli.App, at net.Addr) error {
	var faults []error
	tokens := false
	for _, way := range f.Auth {
		switch way {
		case settings.AuthKeys:
			_, err := reach.Keys(ctx, a)
			faults = append(faults, err)
			continue
		case settings.AuthLocal:
			if p := f.authorization.Provider; p != nil {
				_, err := p.Secret(f.folder, a.Getenv)
				faults = append(faults, located("authorization.provider", err))
			} else {
				_, err := reach.Users(ctx, a)
				faults = append(faults, err)
			}
		default:
			issuer := f.authorization.Issuers[way]
			_, err := issuer.Secret(f.folder, a.Getenv)
			faults = append(faults, located("authorization.issuers."+way, err))
		}
		tokens = true
	}
	if tokens && at != nil {
		origins, err := f.originsOf(at, f.TLS.Encrypts())
		if err == nil && slices.Contains(f.Auth, settings.AuthLocal) {
			err = checkLocal(origins[0])
		}
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}

// located adds the path of a setting to an error.
func located(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, err)
}

// list lists the effective settings.
func (c *checking) list() {
	var file *config.File
	for _, f := range c.set.Files {
		if _, from, err := f.Settings(); err == nil && from != nil && from.Path == c.from {
			file = from
		}
	}
	for _, m := range c.now.List() {
		from := "default"
		if flag := c.options.Flags.Given(m.Name()); flag != "" {
			from = flag
		} else if m.Name() == "names" && c.options.NoPrefix {
			from = "--no-prefix"
		} else if file != nil {
			if line := file.SettingLine(m.Path...); line > 0 {
				from = fmt.Sprintf("%s:%d", c.app.Short(c.from), line)
			}
		}
		c.shown.Settings = append(c.shown.Settings, CheckedSetting{m.Name(), m.Shown(), from, m.Restart.Effect()})
	}
}

// A runningSettings is the response to GET /api/settings.
type runningSettings struct {
	File     string                    `json:"file,omitempty"`
	Settings map[string]CheckedSetting `json:"settings"` // by name
}

// sendSettings responds with the settings in use, without secrets. Those that wait for a restart
// have their earlier values.
func (v *Served) sendSettings(w http.ResponseWriter, _ *http.Request) {
	now := runningSettings{Settings: map[string]CheckedSetting{}}
	v.unmatched.mu.Lock()
	now.File = v.App.Absolute(v.unmatched.from)
	v.unmatched.mu.Unlock()
	waits := func(m settings.Member) bool {
		return m.Restart == settings.RestartGateway || m.Restart == settings.RestartTokens
	}
	for _, one := range []struct {
		of    *settings.Settings
		waits bool
	}{{v.Gateway.Layers().Plan().Settings, false}, {v.Gateway.Layers().Opened, true}} {
		for _, m := range one.of.List() {
			if waits(m) == one.waits {
				now.Settings[m.Name()] = CheckedSetting{Setting: m.Name(), Value: m.Shown(), Holds: m.Restart.Effect()}
			}
		}
	}
	reply.JSON(w, http.StatusOK, now)
}

// running compares the configuration with that of each running junction up that has the same file
// or address.
func (c *checking) running(ctx context.Context) error {
	all, err := cli.Instances(ctx, c.app.Place)
	if err != nil {
		return nil // this system has no sockets, so nothing is known
	}
	folder, err := cli.StatusFolder(c.app.Place)
	if err != nil {
		return err
	}
	for _, in := range all {
		is, err := runningSettingsOf(ctx, filepath.Join(folder, fmt.Sprint(in.PID, cli.ControlSuffix)))
		if err != nil {
			continue // it has ended, or is an earlier version
		}
		same := is.File != "" && filename.Real(is.File) == filename.Real(c.app.Absolute(c.from))
		if http, _ := json.Marshal(c.options.HTTP); same || bytes.Equal(is.Settings["listen.http"].Value, http) {
			for _, member := range []string{"listen.http", "listen.admin", "listen.tls.acme.http"} {
				var address string
				if json.Unmarshal(is.Settings[member].Value, &address) == nil {
					c.held = append(c.held, address)
				}
			}
			c.shown.Running = append(c.shown.Running, CheckedRunning{in.PID, in.Endpoint, c.changes(in, is)})
		}
	}
	return nil
}

// tryAddresses finds out whether the addresses can be used: they are free, or the running gateway has
// them.
func (c *checking) tryAddresses() {
	o := &c.options
	if o.Stdio {
		return
	}
	type address struct{ member, address string }
	all := []address{{"listen.http", o.HTTP}, {"listen.admin", o.Admin}}
	if o.TLS.ACME != nil {
		all = append(all, address{"listen.tls.acme.http", o.TLS.ACME.HTTP})
	}
	for _, one := range all {
		if _, err := net.ResolveTCPAddr("tcp", one.address); one.address == "" || slices.Contains(c.held, one.address) || err != nil {
			continue // settings has reported an address that cannot be resolved
		}
		l, err := ListenAt(c.app.Place, one.address)
		if err != nil {
			c.fault(located(cmp.Or(o.Flags.Given(one.member), one.member), err))
			continue
		}
		_ = l.Close()
	}
}

// tryAudit finds out whether the audit log can be written: its folder is writable, or can be made.
func (c *checking) tryAudit() {
	if c.now.Audit == nil {
		return
	}
	folder, err := layer.AuditFolder(c.app.Place, c.now.Audit.Folder)
	if err == nil {
		err = writable(folder)
	}
	c.fault(located(cmp.Or(c.options.Flags.Given("audit.folder"), "audit.folder"), err))
}

// writable returns an error if files cannot be made in a folder, or the folder itself cannot be made.
// It leaves nothing behind.
func writable(folder string) error {
	for {
		info, err := os.Stat(folder)
		if parent := filepath.Dir(folder); errors.Is(err, fs.ErrNotExist) && parent != folder {
			folder = parent
			continue
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is not a folder", folder)
		}
		made, err := os.CreateTemp(folder, ".junction-check-*")
		if err != nil {
			return fmt.Errorf("cannot be written: %w", err)
		}
		return errors.Join(made.Close(), os.Remove(made.Name()))
	}
}

// runningSettingsOf requests the settings of the process at a socket.
func runningSettingsOf(ctx context.Context, socket string) (is runningSettings, err error) {
	ctx, cancel := context.WithTimeout(ctx, cli.StatusTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://junction/api/settings", nil)
	if err != nil {
		return is, err
	}
	resp, err := cli.SendToProcess(socket, req, cli.StatusTimeout)
	if err != nil {
		return is, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return is, errors.New(resp.Status)
	}
	return is, json.NewDecoder(io.LimitReader(resp.Body, maxSettings)).Decode(&is)
}

// changes returns the differences to a running junction up.
func (c *checking) changes(in cli.Instance, is runningSettings) []CheckedChange {
	changes := []CheckedChange{}
	for _, m := range c.shown.Settings {
		if was, has := is.Settings[m.Setting]; !has || !bytes.Equal(was.Value, m.Value) {
			changes = append(changes, CheckedChange{m.Setting, m.Holds})
		}
		delete(is.Settings, m.Setting)
	}
	for _, name := range slices.Sorted(maps.Keys(is.Settings)) {
		changes = append(changes, CheckedChange{name + " (removed)", is.Settings[name].Holds})
	}
	configured := map[string]launch.Entry{}
	for _, e := range c.entries {
		configured[e.Name] = e
	}
	for _, s := range in.Servers {
		e, has := configured[s.Name]
		switch delete(configured, s.Name); {
		case !has:
			changes = append(changes, CheckedChange{"server " + s.Name + " (removed)", "at once: the server ends"})
		case e.CommandText() != s.Origin:
			changes = append(changes, CheckedChange{"server " + s.Name, settings.RestartServer.Effect()})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		if len(c.options.Names) == 0 || slices.Contains(c.options.Names, name) {
			changes = append(changes, CheckedChange{"server " + name + " (added)", "at once"})
		}
	}
	return changes
}

// print prints the result.
func (c *checking) print() error {
	a := c.app
	if a.Flags.JSON {
		return a.PrintJSON(c.shown)
	}
	rows := [][]string{{"setting", "value", "from", "a change holds"}}
	for _, s := range c.shown.Settings {
		rows = append(rows, []string{s.Setting, string(s.Value), s.From, s.Holds})
	}
	text := ""
	if len(c.shown.Settings) > 0 {
		text = a.Table(rows, 0)
	}
	for _, r := range c.shown.Running {
		text += fmt.Sprintf("\njunction up at %s (process %d): ", r.Endpoint, r.PID)
		if len(r.Changes) == 0 {
			text += "no change\n"
			continue
		}
		text += "changes\n"
		rows := [][]string{}
		for _, change := range r.Changes {
			rows = append(rows, []string{change.Changed, change.Holds})
		}
		text += a.Table(rows, 2)
	}
	if _, err := io.WriteString(a.Out, text); err != nil {
		return err
	}
	for _, fault := range c.shown.Faults {
		a.Screen.Printf("junction: %s\n", fault)
	}
	if len(c.shown.Faults) == 0 {
		a.Screen.Printf("junction: the configuration is valid\n")
	}
	return nil
}
