package settings

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/internal/proxied"
)

// UnixPrefix is the prefix of an address that is a Unix socket. The path of the socket follows it.
const UnixPrefix = "unix:"

// Listen configures the addresses at which clients reach the gateway.
type Listen struct {
	HTTP           string   `json:"http,omitempty" example:"127.0.0.1:7717" flag:"http HOST:PORT" restart:"gateway" usage:"serve at HOST:PORT or unix:FILE, path /mcp (/sse for clients that know only HTTP+SSE)" doc:"the address for clients: HOST:PORT, or unix:FILE for a socket that only this user can open; by default 127.0.0.1:7717. The path is /mcp, or /sse for clients that know only HTTP+SSE"`
	TLS            TLS      `json:"tls,omitzero" doc:"encryption of the address"`
	PublicURL      string   `json:"publicURL,omitempty" example:"https://tools.example.com" flag:"public-url ORIGIN" restart:"gateway" usage:"with --auth: the origin that clients and browsers use, such as https://tools.example.com (default its address)" doc:"the origin that clients and browsers use; by default the address. Its host is an allowed host"`
	Hosts          []string `json:"hosts,omitempty" max:"100" flag:"allow-host NAME" restart:"gateway" usage:"with --http: let clients use this host name, in addition to localhost and its address" doc:"host names that clients may use, in addition to localhost, the address, and the host of publicURL"`
	Origins        []string `json:"origins,omitempty" max:"100" flag:"allow-origin ORIGIN" restart:"gateway" usage:"with --http: let web pages of this origin use it, such as https://example.com" doc:"origins of web pages that may use the address, such as https://example.com"`
	TrustedProxies []string `json:"trustedProxies,omitempty" max:"100" flag:"trusted-proxy NETWORK" restart:"gateway" usage:"with --http: take the address of a client from X-Forwarded-For or Forwarded of proxies in this network, such as 10.0.0.0/8, at this address, or with unix at the socket" doc:"proxies in front of the gateway whose X-Forwarded-For or Forwarded names the client: networks such as 10.0.0.0/8, addresses, or unix for a socket"`
	ProxyProtocol  bool     `json:"proxyProtocol,omitempty" flag:"proxy-protocol" restart:"gateway" usage:"with --trusted-proxy: these proxies begin each connection with a header of the PROXY protocol, version 1 or 2" doc:"the trusted proxies begin each connection with a header of the PROXY protocol, version 1 or 2, which names the client"`
	Admin          string   `json:"admin,omitempty" example:"127.0.0.1:9464" flag:"admin HOST:PORT" restart:"gateway" usage:"serve /metrics (Prometheus), /healthz, /readyz and, with a token, /api at HOST:PORT; an address that other machines can reach needs --tls-cert or --admin-insecure" doc:"a second address, with /metrics (Prometheus), /healthz, /readyz and, with a token, /api. If other machines can reach it, it needs tls or adminInsecure"`
	AdminInsecure  bool     `json:"adminInsecure,omitempty" flag:"admin-insecure" restart:"gateway" usage:"let --admin use an address of a network without --tls-cert: every client there can read /metrics, and /api is not served" doc:"let admin be an address of a network without tls: every client there can read /metrics, and /api is not served"`
}

// TLS configures the encryption of an address. Without a certificate and an authority that issues
// one, it is not encrypted.
type TLS struct {
	Cert     string `json:"cert,omitempty" example:"tls.crt" flag:"tls-cert FILE" restart:"gateway" usage:"with --http: serve https with the certificate and its chain in FILE, PEM; a changed file is read again" doc:"the file with the certificate and its chain, PEM; a changed file is read again. A relative path is from this file's folder"`
	Key      string `json:"key,omitempty" example:"tls.key" flag:"tls-key FILE" restart:"gateway" usage:"the key of --tls-cert, in FILE, PEM" doc:"the file with the key of cert, PEM"`
	ClientCA string `json:"clientCA,omitempty" example:"clients.crt" flag:"tls-client-ca FILE" restart:"gateway" usage:"admit only clients with a certificate that an authority in FILE signed, PEM; its common name is the user; a changed file is read again" doc:"the file with the authorities of clients, PEM: only clients with a certificate of theirs are admitted, and its common name is the user. A changed file is read again"`
	Revoked  string `json:"clientRevoked,omitempty" example:"revoked.crl" flag:"tls-client-revoked FILE" restart:"gateway" usage:"refuse client certificates that FILE revokes: revocation lists (CRL), or a serial number or SHA-256 in each line; a changed file is read again" doc:"the file with client certificates to refuse: revocation lists (CRL), or a serial number or SHA-256 in each line. A changed file is read again"`
	ACME     *ACME  `json:"acme,omitempty" restart:"gateway" doc:"get certificates from an authority by ACME, in place of cert and key, and renew them"`
}

// ACME configures certificates from an authority that issues them by ACME (RFC 8555). The authority
// checks the names with the challenge TLS-ALPN-01, at port 443 of each, or else with HTTP-01.
type ACME struct {
	Hosts     []string `json:"hosts" max:"100" doc:"the names of the certificates, such as tools.example.com, which must lead to port 443 of this address. Clients may use them as hosts"`
	Email     string   `json:"email,omitempty" max:"200" example:"ops@example.com" doc:"the address to which the authority writes about the certificates"`
	Directory string   `json:"directory,omitempty" example:"https://acme.example.com/directory" doc:"the directory of the authority; by default that of Let's Encrypt, whose terms you accept by this setting"`
	Cache     string   `json:"cache,omitempty" example:"acme" doc:"the folder of the certificates and keys; by default acme in Junction's own folder. A relative path is from this file's folder"`
	HTTP      string   `json:"http,omitempty" pattern:"^.*:[0-9]+$" example:"0.0.0.0:80" doc:"an address for the challenge HTTP-01, which port 80 of the names must lead to, for authorities that cannot reach port 443; it redirects all other requests to https"`
}

// Encrypts reports whether connections are encrypted.
func (t *TLS) Encrypts() bool { return t.Cert != "" || t.ACME != nil }

// locate makes relative paths absolute.
func (l *Listen) locate(locate func(string) string) {
	for _, p := range []*string{&l.TLS.Cert, &l.TLS.Key, &l.TLS.ClientCA, &l.TLS.Revoked} {
		*p = locate(*p)
	}
	if a := l.TLS.ACME; a != nil {
		a.Cache = locate(a.Cache)
	}
	if path, is := strings.CutPrefix(l.HTTP, UnixPrefix); is {
		l.HTTP = UnixPrefix + locate(path)
	}
}

// check returns the faults that the schema cannot express. It checks each member by itself, because
// a flag may complete the members of the file.
func (l *Listen) check() error {
	var faults []error
	fault := func(member, format string, args ...any) {
		faults = append(faults, fmt.Errorf("listen."+member+": "+format, args...))
	}
	if l.HTTP != "" {
		path, isFile := strings.CutPrefix(l.HTTP, UnixPrefix)
		_, port, err := net.SplitHostPort(l.HTTP)
		if err == nil && !isFile {
			_, err = net.LookupPort("tcp", port)
		}
		if isFile && path == "" || !isFile && err != nil {
			fault("http", "expected HOST:PORT, such as 127.0.0.1:7717, or unix:FILE, got %q", l.HTTP)
		}
	}
	if l.PublicURL != "" && !isOrigin(l.PublicURL) {
		fault("publicURL", "expected an origin such as https://tools.example.com, got %q", l.PublicURL)
	}
	if _, err := proxied.Parse(l.TrustedProxies); err != nil {
		fault("trustedProxies", "%w", err)
	}
	if a := l.TLS.ACME; a != nil {
		if len(a.Hosts) == 0 {
			fault("tls.acme.hosts", "expected the names of the certificates")
		}
		for i, host := range a.Hosts {
			if !hostName().MatchString(host) {
				fault(fmt.Sprintf("tls.acme.hosts[%d]", i), "expected a name such as tools.example.com, got %q", host)
			}
		}
		if u, err := url.Parse(a.Directory); a.Directory != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
			fault("tls.acme.directory", "expected an https URL, got %q", a.Directory)
		}
	}
	return errors.Join(faults...)
}

// hostName matches a host name with at least two labels, in lower case.
var hostName = lazy.Regexp(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$`)

// AllowedHosts returns the host names that clients may use.
func (l *Listen) AllowedHosts() []string {
	hosts := slices.Clip(l.Hosts)
	if l.TLS.ACME != nil {
		hosts = append(hosts, l.TLS.ACME.Hosts...)
	}
	if u, err := url.Parse(l.PublicURL); err == nil && u.Hostname() != "" {
		hosts = append(hosts, u.Hostname())
	}
	return hosts
}

// The values of [Settings.Auth] that are not URLs.
const (
	AuthNone  = "none"  // no authentication
	AuthKeys  = "keys"  // clients authenticate by a key
	AuthLocal = "local" // clients authenticate by a token of the authorization server in this process
)

// Ways returns the ways in which clients authenticate: Auth without AuthNone, each once.
func (s *Settings) Ways() (ways []string) {
	for _, way := range s.Auth {
		if way != AuthNone && !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	return ways
}

// checkAuth returns an error if a value of [Settings.Auth] is not valid.
func checkAuth(ways []string) error {
	for _, way := range ways {
		switch u, err := url.Parse(way); {
		case way == AuthNone || way == AuthKeys || way == AuthLocal:
		case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !outside.IsHere(u.Hostname())):
			return fmt.Errorf("auth: expected none, keys, local, or the https URL of an authorization server, got %q", way)
		}
	}
	return nil
}

// Telemetry configures traces and the log of the gateway.
type Telemetry struct {
	OTLP      string `json:"otlp,omitempty" example:"http://localhost:4318" flag:"otlp URL" restart:"gateway" usage:"send traces to the collector of OpenTelemetry at URL, such as http://localhost:4318" doc:"the collector of OpenTelemetry that gets traces; by default that of the environment variables of OpenTelemetry"`
	LogFormat string `json:"logFormat,omitempty" enum:"text,json" default:"text" flag:"log-format" restart:"gateway" usage:"write standard error as text to read, or as one JSON object a line, without questions" doc:"the format of standard error: text to read, or one JSON object a line, without questions"`
	LogLevel  string `json:"logLevel,omitempty" enum:"debug,info,warn,error" flag:"log-level LEVEL" restart:"gateway" usage:"log this level and above: debug, info, warn or error (default warn; info with --log-format json; debug with -v)" doc:"the lowest level of the log; by default warn, or info with logFormat json, or debug with -v"`
}

// The values of [Telemetry.LogFormat].
const (
	LogText = "text"
	LogJSON = "json"
)

// GatewayLimits limits callers, and the gateway as a whole. A zero member is the default.
type GatewayLimits struct {
	Limits
	Sessions      int           `json:"sessions,omitempty" min:"1" max:"10000000" default:"100000" restart:"gateway" doc:"legacy sessions of all callers. At the limit, a caller with the most sessions loses one to a caller with fewer"`
	SessionTime   time.Duration `json:"sessionTime,omitempty" default:"30m" restart:"gateway" doc:"the lifetime of an idle legacy session; up to 24h"`
	Message       string        `json:"message,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)$" example:"4MB" restart:"gateway" doc:"bytes of a message of a client, 16 MiB by default; up to 32MB. Callers share the memory for messages"`
	HeaderTime    time.Duration `json:"headerTime,omitempty" default:"10s" restart:"gateway" doc:"the time to send the headers of a request; up to 10m"`
	Registrations int           `json:"registrations,omitempty" min:"10" max:"1000000" default:"300" restart:"tokens" doc:"registrations of clients in an hour, with auth local; one address has a tenth"`
	FailedLogins  int           `json:"failedLogins,omitempty" min:"1" max:"10000" default:"10" restart:"tokens" doc:"failed logins of a user from one address in 15 minutes, with auth local. An address has ten times as many for all users"`
	TaskTime      time.Duration `json:"taskTime,omitempty" default:"1h" restart:"gateway" doc:"the maximum duration of a task, after which its result is no longer kept, too; up to 720h"`
	Unanswered    int           `json:"unanswered,omitempty" min:"1" max:"1000" default:"5" restart:"gateway" doc:"requests in a row without a response, after which a server gets no further ones until it answers a ping"`
	HealthPause   time.Duration `json:"healthPause,omitempty" default:"1m" restart:"gateway" doc:"the time between two pings of a server; up to 1h"`
}

// check returns the faults that the schema cannot express.
func (l *GatewayLimits) check() error {
	var faults []error
	for _, one := range []struct {
		member     string
		value, max time.Duration
	}{{"sessionTime", l.SessionTime, 24 * time.Hour}, {"headerTime", l.HeaderTime, 10 * time.Minute}, {"taskTime", l.TaskTime, 30 * 24 * time.Hour}, {"healthPause", l.HealthPause, time.Hour}} {
		if one.value != 0 && (one.value < time.Second || one.value > one.max) {
			faults = append(faults, fmt.Errorf("limits.%s: expected 1s to %v, got %v", one.member, one.max, one.value))
		}
	}
	if size, _ := Size(l.Message); size > 32e6 {
		faults = append(faults, fmt.Errorf("limits.message: expected up to 32MB, got %s", l.Message))
	}
	return errors.Join(faults...)
}

// locateIn returns a function that makes a path relative to folder.
func locateIn(folder string) func(path string) string {
	return func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(folder, path)
	}
}
