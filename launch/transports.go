package launch

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/plainhttp"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A Sender returns the client that sends requests with a header to the server of an entry.
type Sender func(s *config.Server, header http.Header) (*http.Client, error)

// A Transport describes how to reach some servers. It is a row of the table of transports.
type Transport struct {
	Name string // name in files of cases

	kinds   []config.Kind // kinds of entries that use the transport
	schemes []string      // schemes of addresses on a command line that use it

	IsProgram bool // whether the server is a program, which can be locked and confined; otherwise it has an address
	IsWeb     bool // whether it uses HTTP: requests have headers, and a user may have to log in
	IsOlder   bool // whether only older revisions have it; an entry must then name it

	isNamed bool // whether the target is named by its address, because the transport's own text differs from it
	// check returns an error for an invalid address. If it is nil, every address is valid.
	check func(address string) error
	// connect returns the transport to a server. s.Name is empty for a server without an entry; d
	// may be nil.
	connect func(l *Launcher, s *config.Server, d *config.Definition, send Sender) (mcp.Transport, error)
}

// HTTPUnix is the scheme of a server that speaks HTTP at a Unix socket. At a unix: address a server
// exchanges lines instead.
const HTTPUnix = "http+unix"

// EndpointPath is the path of a gateway's endpoint.
const EndpointPath = "/mcp"

// transports is the table of transports.
func transports() []*Transport {
	return []*Transport{
		{Name: "stdio", kinds: []config.Kind{config.Stdio}, IsProgram: true, connect: (*Launcher).program},
		{Name: "http", kinds: []config.Kind{config.HTTP, config.Auto}, schemes: []string{"http", "https"}, IsWeb: true, check: checkHost, connect: (*Launcher).streamable},
		{Name: "sse", kinds: []config.Kind{config.SSE}, IsWeb: true, IsOlder: true, connect: (*Launcher).sse},
		{Name: "http", schemes: []string{HTTPUnix}, IsWeb: true, isNamed: true, check: checkSocket, connect: (*Launcher).httpSocket},
		{Name: "stdio", schemes: []string{"unix"}, connect: (*Launcher).socket}, // a socket carries the same bytes as standard input and output
		{Name: "stdio", schemes: []string{"tcp"}, connect: (*Launcher).socket},
	}
}

// Of returns the transport to servers of a kind, or nil.
func Of(k config.Kind) *Transport {
	return row(func(t *Transport) bool { return slices.Contains(t.kinds, k) })
}

// IsProgram reports whether servers of a kind are programs that are started.
func IsProgram(k config.Kind) bool {
	t := Of(k)
	return t != nil && t.IsProgram
}

// At returns the transport for an address on a command line. It returns nil for the name of a
// server.
func At(address string) *Transport {
	scheme, _, isURL := strings.Cut(address, ":")
	return row(func(t *Transport) bool { return isURL && slices.Contains(t.schemes, scheme) })
}

func row(is func(t *Transport) bool) *Transport {
	all := transports()
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// connect checks the flags of the command line and returns the transport to a server.
func (l *Launcher) connect(t *Transport, s *config.Server, d *config.Definition, send Sender) (mcp.Transport, error) {
	andIs := func(how string) string {
		if s.Name == "" {
			return ""
		}
		return ", and " + strconv.Quote(s.Name) + how
	}
	switch {
	case !t.IsProgram && !t.IsWeb && len(l.Header)+len(l.Env) > 0:
		return nil, commandline.Errorf("--header and --env do not apply to a socket")
	case t.IsProgram && len(l.Header) > 0:
		return nil, commandline.Errorf("--header is for servers with a URL%s", andIs(" is started by a command"))
	case !t.IsProgram && len(l.Env) > 0:
		return nil, commandline.Errorf("--env is for servers that are started by a command%s", andIs(" has a URL"))
	}
	return t.connect(l, s, d, send)
}

// Transport returns the transport to a resolved server. d is the server's definition, which may be
// nil.
func (l *Launcher) Transport(s *config.Server, d *config.Definition, send Sender) (mcp.Transport, error) {
	return l.connect(Of(s.Kind), s, d, send)
}

// Address returns the target at an address on a command line.
func (l *Launcher) Address(address string) (Target, error) {
	by := At(address)
	switch {
	case by == nil:
		return Target{}, checkHost("")
	case by.check != nil:
		if err := by.check(address); err != nil {
			return Target{}, err
		}
	}
	t, err := l.connect(by, &config.Server{URL: address}, nil, l.AuthorizedAs)
	if err != nil {
		return Target{}, err
	}
	found := Target{By: by, Transport: t}
	if by.isNamed {
		found.Name = address
	}
	return found, nil
}

// Command returns the target for a command line that starts a server.
func (l *Launcher) Command(name string, args []string) (Target, error) {
	by := Of(config.Stdio)
	if len(l.Header) == 0 {
		if _, err := Pairs(l.Env, WrongEnv); err != nil {
			return Target{}, err
		}
	}
	t, err := l.connect(by, &config.Server{Command: name, Args: args}, nil, nil)
	if err != nil {
		return Target{}, err
	}
	return Target{By: by, Transport: t}, nil
}

func checkHost(address string) error {
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return commandline.Errorf("SERVER: expected a URL such as https://example.com/mcp")
	}
	return nil
}

func checkSocket(address string) error {
	if socketAddress(address) == "" {
		return commandline.Errorf("SERVER: expected a file, such as %s:up.sock", HTTPUnix)
	}
	return nil
}

// program returns the transport to a server that is a program.
func (l *Launcher) program(s *config.Server, d *config.Definition, _ Sender) (mcp.Transport, error) {
	variable, err := l.chained(d)
	if err != nil {
		return nil, err
	}
	c := command.New(s.Command, s.Args...)
	c.Kill, c.Impatient = l.Kill, l.Timeout > 0
	words := startWords(s, d)
	if d != nil && d.AllVariables {
		words = append(words, l.foreignVariables()...)
	}
	c.Dir, c.Environ, c.Logger, c.Stderr = cmp.Or(s.Dir, l.Place.Dir), l.Environ(l.Place.Environ(), s.Unset, words...), l.transportLogger(s), l.showStderr(cmp.Or(s.Name, s.Command))
	for name, value := range s.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	c.Env = append(append(c.Env, l.Env...), variable)
	l.HideVariables(c.Env)
	return c, nil
}

// startWords returns the command line as the server's entry has it. The entry of an API has none,
// so startWords returns the command line that serves the API.
func startWords(s *config.Server, d *config.Definition) []string {
	if d == nil || d.Words() == nil {
		return append([]string{s.Command}, s.Args...)
	}
	return d.Words()
}

// web returns the client that sends requests to a server, and the headers of the requests.
func (l *Launcher) web(s *config.Server, send Sender) (*http.Client, http.Header, error) {
	header, err := Headers(l.Header)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range s.Headers {
		if header.Get(name) == "" {
			header[http.CanonicalHeaderKey(name)] = []string{value}
		}
	}
	l.hideHeaders(header)
	client, err := send(s, header)
	return client, header, s.Located(err)
}

func (l *Launcher) streamable(s *config.Server, _ *config.Definition, send Sender) (mcp.Transport, error) {
	client, header, err := l.web(s, send)
	if err != nil {
		return nil, err
	}
	return streamable.ClientWith(s.URL, streamable.ClientOptions{HTTP: client, Header: header, Logger: l.transportLogger(s)}), nil
}

func (l *Launcher) sse(s *config.Server, _ *config.Definition, send Sender) (mcp.Transport, error) {
	client, header, err := l.web(s, send)
	if err != nil {
		return nil, err
	}
	return httpsse.ClientWith(s.URL, httpsse.ClientOptions{HTTP: client, Header: header, Logger: l.transportLogger(s)}), nil
}

// httpSocket returns the transport to a server that speaks HTTP at a Unix socket, such as junction
// up --http unix:FILE.
func (l *Launcher) httpSocket(s *config.Server, d *config.Definition, _ Sender) (mcp.Transport, error) {
	path := l.Place.Path(socketAddress(s.URL))
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	return l.streamable(&config.Server{URL: "http://localhost" + EndpointPath}, d, func(*config.Server, http.Header) (*http.Client, error) {
		return &http.Client{Transport: plainhttp.New(dial)}, nil
	})
}

// socket returns the transport to a server that exchanges lines at an address. The address's scheme
// is the network.
func (l *Launcher) socket(s *config.Server, _ *config.Definition, _ Sender) (mcp.Transport, error) {
	network, _, _ := strings.Cut(s.URL, ":")
	address := socketAddress(s.URL)
	if network == "unix" {
		address = l.Place.Path(address)
	}
	return stream.DialWith(network, address, stream.ClientOptions{Logger: l.transportLogger(s)}), nil
}

// socketAddress returns the part of an address after the scheme and slashes.
func socketAddress(address string) string {
	_, rest, _ := strings.Cut(address, ":")
	return strings.TrimPrefix(rest, "//")
}

// transportLogger returns the logger of a transport. With a name, odd forms of messages are
// recorded, too.
func (l *Launcher) transportLogger(s *config.Server) *slog.Logger {
	if s.Name == "" {
		return l.logger()
	}
	return l.Logger(s.Name)
}

// WrongEnv is the error text for an invalid value of --env.
const WrongEnv = "--env: expected NAME=VALUE"

// Pairs parses the values of a flag, each NAME=VALUE. fault is the text of the error about an
// invalid one.
func Pairs(given []string, fault string) (map[string]string, error) {
	read := map[string]string{}
	for _, pair := range given {
		name, value, found := strings.Cut(pair, "=")
		if !found || name == "" {
			return nil, commandline.Errorf("%s", fault)
		}
		read[name] = value
	}
	return read, nil
}

// Headers parses the values of --header. Its errors contain no values.
func Headers(flags []string) (http.Header, error) {
	header := http.Header{}
	for _, flag := range flags {
		name, value, found := strings.Cut(flag, ":")
		if name = strings.TrimSpace(name); !found || name == "" || strings.ContainsAny(name, " \t\r\n") || strings.ContainsAny(value, "\r\n\x00") {
			return nil, commandline.Errorf("--header: expected 'NAME: VALUE'")
		}
		header.Add(name, strings.TrimSpace(value))
	}
	return header, nil
}
