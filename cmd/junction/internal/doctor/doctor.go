package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/process"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/cobra"
)

const (
	maxVersion = 4 << 10 // largest size of a program's version in bytes
)

// Command returns the command doctor.
func Command(a *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor [SERVER…]",
		Short: "Find which server is broken, and how to fix it",
		Long: `Check each step between junction and each configured server: its entry, the variables in
the entry, the program or address, the start, the login, the revision, the list of tools,
a ping, and a call. For a step that fails, doctor prints how to fix it. It calls one tool
that the server marks as read-only and closed-world, and that needs no arguments. Without
such a tool it calls none.

Without SERVER it checks each host that junction host connect connected, too: whether the
host's program or address exists, whether the entry changed, which rules and log the host has,
and which servers bypass junction.

` + cli.ExitCodes("every step of every server works", "a step fails", "", "the configuration cannot be read"),
		ValidArgsFunction: reach.SuggestServers(a),
		RunE:              func(cmd *cobra.Command, args []string) error { return runDoctor(cmd.Context(), a, args) },
	}
	a.JSONFlag(cmd, cli.ServersShown[*Report]{})
	reach.ConfigFlags(a, cmd.Flags())
	cmd.Flags().DurationVar(&a.Launch.Timeout, "timeout", 0, fmt.Sprintf("give up a server that does not start within `DURATION` (default %v without work, else %v)", launch.BriefStart, launch.DefaultStart))
	return cmd
}

// A link is one step between junction and a server.
type link struct {
	Name string `json:"link"`
	OK   bool   `json:"ok"`
	// Careful is set if the link works with Junction but has a weakness.
	Careful bool `json:"careful,omitempty"`
	// Skipped is set if the link was not tried.
	Skipped bool   `json:"skipped,omitempty"`
	Detail  string `json:"detail"`
	Remedy  string `json:"remedy,omitempty"` // remedy for a broken link
}

// A Report is the result of examining a server or host. Its links end with the first broken one.
type Report struct {
	Server string `json:"server"`
	Host   bool   `json:"host,omitempty"` // whether it is a connected host and not a server
	Source string `json:"source,omitempty"`
	Links  []link `json:"links"`
}

// Pass adds a link that works, and returns true.
func (p *Report) Pass(name, format string, args ...any) bool {
	p.Links = append(p.Links, link{Name: name, OK: true, Detail: plaintext.Line(fmt.Sprintf(format, args...), cli.MaxReason)})
	return true
}

// careful adds a link that works but has a weakness, and returns true.
func (p *Report) careful(name, format string, args ...any) bool {
	p.Pass(name, format, args...)
	p.Links[len(p.Links)-1].Careful = true
	return true
}

// AddRunning adds the fact that a junction up is connected to the server, because doctor examined
// another process of that server.
func (p *Report) AddRunning(r *cli.RunningServer) {
	if !r.IsConnected() || len(p.Links) == 0 {
		return
	}
	if last := &p.Links[len(p.Links)-1]; !last.OK {
		last.Remedy = r.Location() + " is connected to it, and the server may allow only one connection; otherwise " + last.Remedy
		return
	}
	p.Pass("running", "%s is connected to it, too; doctor opened another connection", r.Location())
}

// skipped adds a link that was not tried.
func (p *Report) skipped(name, why string) {
	p.Pass(name, "%s", why)
	p.Links[len(p.Links)-1].Skipped = true
}

// Fail adds a broken link, and returns false.
func (p *Report) Fail(name, why, remedy string) bool {
	p.Links = append(p.Links, link{Name: name, Detail: plaintext.Line(why, cli.MaxReason), Remedy: remedy})
	return false
}

// runDoctor examines the named servers, or all servers and hosts, and prints the results.
func runDoctor(ctx context.Context, a *cli.App, names []string) error {
	set, entries, err := reach.ConfiguredServers(a)
	if err != nil {
		return err
	}
	a.Launch.Gateway = launch.GatewayMark(set, nil) // as in junction up, so that an entry that starts it again is broken
	sound := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return reach.HasProblem(set, name) && !slices.ContainsFunc(entries, func(e launch.Entry) bool { return e.Name == name })
	})
	if entries, err = reach.SelectServers(entries, set, sound); err != nil {
		return err
	}
	if len(names) > 0 && len(sound) == 0 {
		entries = nil
	}
	for _, e := range entries {
		if e.Definition != nil {
			reach.ReportIgnored(a, set, e.Definition)
		}
	}
	var all []*Report
	for _, p := range set.Problems() {
		if len(names) == 0 || slices.Contains(names, p.Server) {
			sick := &Report{Server: cmp.Or(p.Server, p.Source), Source: p.Source}
			sick.Fail("entry", reach.Unusable(p, set).Error(), fmt.Sprintf("change line %d of %s", p.Line, p.Source))
			all = append(all, sick)
			showReport(a, sick)
		}
	}
	if a.Unread != nil && len(names) == 0 {
		sick := &Report{Server: "configuration"}
		sick.Fail("file", a.Unread.Error(), "correct the file at that place; until then its servers are not used")
		all = append(all, sick)
		showReport(a, sick)
	}
	faults := a.Launch.Consents(ctx, entries, len(names) > 0)
	together := showWithoutConsent(a, entries, faults)
	examined := func(p *Report) {
		if ctx.Err() != nil { // the interrupt itself breaks links
			return
		}
		all = append(all, p)
		if !together || len(p.Links) != 1 || p.Links[0].Name != consentLink {
			showReport(a, p)
		}
	}
	examineAll(ctx, a, entries, faults, examined)
	place := func(p *Report) int {
		return slices.IndexFunc(entries, func(e launch.Entry) bool { return e.Name == p.Server })
	}
	slices.SortStableFunc(all, func(x, y *Report) int { return cmp.Compare(place(x), place(y)) }) // the order of --json
	if len(names) == 0 && len(a.Launch.Config) == 0 {
		for _, p := range examineHosts(ctx, a) {
			examined(p)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return diagnosed(a, all)
}

// consentLink is the name of the link that breaks if a project's server lacks consent. agreeToIt is
// its remedy.
const (
	consentLink = "consent"
	agreeToIt   = "agree to it, or name its file with --config"
)

// showWithoutConsent prints the servers without consent together if there are several. It reports
// whether it did.
func showWithoutConsent(a *cli.App, entries []launch.Entry, faults []error) bool {
	var some []error
	for i, err := range faults {
		if errors.As(err, new(*launch.ConsentError)) && !entries[i].IsDisabled() {
			some = append(some, err)
		}
	}
	if len(some) < 2 {
		return false
	}
	p := &Report{Server: plaintext.Count(len(some), "server") + " without your consent"}
	for _, line := range launch.ConsentLines(some) {
		p.Fail(consentLink, line, agreeToIt)
	}
	showReport(a, p)
	return true
}

// behindTime is how long the result of a server waits for the results of earlier servers.
const behindTime = 5 * time.Second

// examineAll examines servers concurrently and calls examined with each result in the order of the
// entries. A slow server delays the results of others by at most [behindTime]. A terminal shows the
// servers that are still being examined.
func examineAll(ctx context.Context, a *cli.App, entries []launch.Entry, faults []error, examined func(*Report)) {
	type place struct {
		p    *Report
		done time.Time // zero until the server has been examined
	}
	running := reach.RunningServers(ctx, a.Place)
	var open []*place
	came, slots := make(chan *place), make(chan struct{}, process.Starts())
	for i, e := range entries {
		if e.IsDisabled() {
			continue
		}
		at := &place{p: &Report{Server: e.Name, Source: e.Source()}}
		open = append(open, at)
		go func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			switch {
			case ctx.Err() != nil:
			case faults[i] != nil:
				at.p.Fail(consentLink, faults[i].Error(), agreeToIt)
			default:
				examine(ctx, a, e, at.p)
				at.p.AddRunning(running.Find(e))
			}
			came <- at
		}()
	}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	defer a.Screen.Transient("")
	for late := false; len(open) > 0; {
		select {
		case at := <-came:
			at.done = time.Now()
		case <-ticker.C:
			late = true
		}
		a.Screen.Transient("")
		var left []*place
		var names []string
		for _, at := range open {
			if !at.done.IsZero() && (len(left) == 0 || time.Since(at.done) >= behindTime) {
				examined(at.p)
				continue
			}
			left = append(left, at)
			names = append(names, plaintext.Line(at.p.Server, 80))
		}
		if open = left; late && len(open) > 0 && a.Screen.Terminal() {
			a.Screen.Transient("still looking at: " + strings.Join(names, ", "))
		}
	}
}

// diagnosed prints the summary, or the JSON of all results. It returns an error if a link is
// broken.
func diagnosed(a *cli.App, all []*Report) error {
	if a.Flags.JSON {
		if err := a.PrintIndented(cli.ServersShown[*Report]{Servers: all}, "  "); err != nil {
			return err
		}
	}
	sick, hosts := 0, 0
	for _, p := range all {
		if p.Host {
			hosts++
		}
		if slices.ContainsFunc(p.Links, func(l link) bool { return !l.OK }) {
			sick++
		}
	}
	if !a.Flags.JSON {
		what := plaintext.Count(len(all)-hosts, "server")
		if hosts > 0 {
			what += ", " + plaintext.Count(hosts, "host")
		}
		a.Out.Printf("%s, %d broken.\n", what, sick)
	}
	switch {
	case a.Unread != nil && sick == len(all):
		return cli.ErrReported
	case sick > 0:
		return cli.ErrToolFailed
	}
	return nil
}

// showReport prints a server and its links as text.
func showReport(a *cli.App, p *Report) {
	if a.Flags.JSON {
		return
	}
	kind := ""
	if p.Host {
		kind = "host "
	}
	a.Out.Printf("%s%s\n", kind, plaintext.Line(p.Server, 200))
	for _, l := range p.Links {
		switch {
		case l.Skipped:
			a.Out.Printf("  skipped %s: %s\n", l.Name, l.Detail)
		case l.Careful:
			a.Out.Printf("  CAREFUL %s: %s\n", l.Name, l.Detail)
		case l.OK:
			a.Out.Printf("  ok      %s: %s\n", l.Name, l.Detail)
		default:
			a.Out.Printf("  BROKEN  %s: %s\n          fix: %s\n", l.Name, l.Detail, l.Remedy)
		}
	}
}

// examine tries the links of a server up to the first broken one.
func examine(ctx context.Context, a *cli.App, e launch.Entry, p *Report) {
	var s *config.Server
	if e.Definition != nil {
		var err error
		if s, err = e.Definition.Resolve(ctx); err != nil {
			p.Fail("variables", err.Error(), VariablesRemedy(err))
			return
		}
		if names := e.Definition.Variables(); len(names) > 0 {
			p.Pass("variables", "%s", strings.Join(names, ", "))
		}
		started, _, err := a.Launch.Started(ctx, e, s)
		if err != nil {
			p.Fail("lock", err.Error(), "follow that message")
			return
		}
		if started != s {
			p.Pass("lock", "%s", strings.TrimPrefix(a.Launch.LockText(e), "which junction.lock says is "))
		}
		if !CheckReachable(ctx, a, started, p) {
			return
		}
	}
	t, err := a.Launch.Target(ctx, e)
	if err != nil {
		p.Fail("entry", err.Error(), "change the entry")
		return
	}
	began := time.Now()
	o := a.Launch.Options(t)
	limit := cmp.Or(o.ConnectTimeout, launch.BriefStart)
	launch.OffersNothing(&o)
	defer func() { p.AddRefusals(a.StderrOf(e.Name).Refusals()) }()
	client, stray, err := dialDoctor(ctx, t.Transport, o)
	if err != nil {
		p.FailStart(t.Transport, err, e.Name, stray, limit)
		return
	}
	defer client.Close()
	p.Pass("start", "in %v%s", time.Since(began).Round(time.Millisecond), use.ServerVersion(client.Server()))
	p.addStrayLine(stray)
	if s != nil && t.IsWeb() {
		p.Pass("authorization", "%s", authorizedBy(ctx, a, s))
	}
	era := "modern"
	if slices.Contains(revision.Legacy(), client.Revision()) {
		era = "legacy"
	}
	p.Pass("era", "%s, revision %s", era, client.Revision())
	if tools, ok := listAndPing(ctx, a, client, p); ok {
		callHarmless(ctx, client, tools, e.Name, p)
	}
}

// AddRefusals adds the refusals of the server's sandbox to the remedy of a broken link.
func (p *Report) AddRefusals(refused string) {
	if last := &p.Links[len(p.Links)-1]; !last.OK && refused != "" {
		last.Remedy = "this may be why: " + refused + "; else " + last.Remedy
	}
}

// VariablesRemedy returns the remedy for an entry whose variables cannot be resolved.
func VariablesRemedy(err error) string {
	switch {
	case errors.Is(err, config.ErrSecret):
		return reach.RemedySecret
	case errors.Is(err, config.ErrNotSet):
		return reach.RemedyVariable
	}
	return "change the entry"
}

// listAndPing lists the tools and pings the server. It returns the harmless tools.
func listAndPing(ctx context.Context, a *cli.App, client *mcp.Client, p *Report) (tools []mcp.Tool, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, reach.CheckTimeout)
	defer cancel()
	if client.Capabilities().Tools != nil {
		n := 0
		for tool, err := range client.Tools(ctx) {
			if err != nil {
				return nil, p.Fail("tools", err.Error(), "the server fails to list its tools: read its log, or report it to its author")
			}
			if n++; IsHarmless(tool) {
				tools = append(tools, *tool)
			}
		}
		p.Pass("tools", "%d", n)
	}
	began := time.Now()
	if err := client.Ping(ctx); err != nil {
		return nil, p.Fail("ping", err.Error(), "the server is busy or does not answer: restart it, or report it to its author")
	}
	return tools, p.Pass("ping", "%v", time.Since(began).Round(10*time.Microsecond))
}

// CheckReachable adds the link for a server's program or address. It reports whether that link
// works.
func CheckReachable(ctx context.Context, a *cli.App, s *config.Server, p *Report) bool {
	if launch.IsProgram(s.Kind) {
		return findProgram(ctx, a, s, p)
	}
	return reachAddress(ctx, s, p)
}

// findProgram adds the link for a server's program, with the version of a runner or interpreter.
func findProgram(ctx context.Context, a *cli.App, s *config.Server, p *Report) bool {
	path := s.Command
	if where, changed := s.Env["PATH"]; changed && !strings.ContainsRune(path, filepath.Separator) {
		for _, dir := range filepath.SplitList(where) {
			if found, err := a.LookPath(filepath.Join(dir, s.Command)); err == nil {
				path = found
				break
			}
		}
	}
	found, err := a.LookPath(path)
	if err != nil {
		return p.Fail("program", err.Error(), reach.ProgramRemedy(s.Command, err))
	}
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(found)), ".exe")
	if !slices.Contains([]string{"npx", "npm", "node", "uvx", "uv", "python", "python3", "docker", "deno", "bunx"}, name) {
		return p.Pass("program", "%s", found)
	}
	version, err := printedVersion(ctx, found, a.Launch.Environ(a.Environ(), s.Unset))
	if err != nil {
		return p.Fail("program", fmt.Sprintf("%s --version: %v", found, err), "install "+name+" anew")
	}
	return p.Pass("program", "%s, %s", found, version)
}

// printedVersion returns the first line that a program prints for --version. It starts the program
// in the same way as a server, so that Ctrl-C at the terminal does not reach it.
func printedVersion(ctx context.Context, program string, environ []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, reach.CheckTimeout)
	defer cancel()
	running, err := process.Start(process.Command{Path: program, Args: []string{"--version"}, Env: environ})
	if err != nil {
		return "", err
	}
	defer running.Close()
	defer context.AfterFunc(ctx, func() { _ = running.Terminate() })()
	out, err := io.ReadAll(io.LimitReader(running, maxVersion))
	select {
	case <-running.Exited():
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return first, cmp.Or(running.ExitError(), err)
}

// reachAddress adds the link for an address. It resolves the name, connects, and checks TLS.
func reachAddress(ctx context.Context, s *config.Server, p *Report) bool {
	u, err := url.Parse(s.URL)
	if err != nil {
		return p.Fail("address", err.Error(), "change the URL")
	}
	if proxy, _ := http.ProxyFromEnvironment(&http.Request{URL: u}); proxy != nil {
		return p.Pass("address", "through the proxy %s", proxy.Host)
	}
	ctx, cancel := context.WithTimeout(ctx, reach.CheckTimeout)
	defer cancel()
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	began := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		remedy := reach.RemedyNoListener
		if errors.As(err, new(*net.DNSError)) {
			remedy = reach.RemedyHostName
		}
		return p.Fail("address", err.Error(), remedy)
	}
	defer conn.Close()
	if u.Scheme != "https" {
		return p.Pass("address", "%s, in %v", conn.RemoteAddr(), time.Since(began).Round(time.Millisecond))
	}
	wanted := false
	o, err := launch.TLSConfig(s.TLS, func() { wanted = true })
	if err != nil {
		return p.Fail("TLS", err.Error(), "change \"tls\" in the entry, or the file")
	}
	o.ServerName = u.Hostname()
	secure := tls.Client(conn, o)
	if err := secure.HandshakeContext(ctx); err != nil {
		return p.Fail("TLS", err.Error(), reach.TLSRemedy(err))
	}
	if wanted && (s.TLS == nil || s.TLS.CertFile == "") {
		p.Pass("TLS", "the server asks for a client certificate, and the entry names none: \"tls\": {\"cert\": FILE, \"key\": FILE}")
	}
	until := secure.ConnectionState().PeerCertificates[0].NotAfter
	return p.Pass("address", "%s, in %v, certificate until %s", conn.RemoteAddr(), time.Since(began).Round(time.Millisecond), until.Format(time.DateOnly))
}
