// Package settings reads the settings of Junction: the member "junction" of a configuration file
// with "mcpServers", or of a junction.json in the same folder.
package settings

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/pointer"
	"github.com/junction-mcp/junction/internal/schema"
)

// Settings holds the member "junction" of a configuration file. A missing member has its default.
// Callers must not change a Settings.
type Settings struct {
	Names         string             `json:"names,omitempty" enum:"prefix,none,map" default:"prefix" doc:"whether names of tools and prompts begin with the server's name: SERVER__TOOL; map offers only those that have a name in the settings of their server, under that name"`
	Conflicts     string             `json:"conflicts,omitempty" enum:"suffix,priority,error" default:"suffix" doc:"the treatment of a name or URI of two servers: the later one gets a suffix (a URI becomes junction:SERVER/URI); the first one keeps it; or neither has it, the error of a call names both, and a resource can still be read as junction:SERVER/URI"`
	Tools         string             `json:"tools,omitempty" enum:"auto,all,search" default:"auto" flag:"tools" doc:"the tools that clients see: all; search_tools, describe_tool and call_tool instead; or these three if all tools cost more than 10,000 tokens"`
	Pin           []string           `json:"pin,omitempty" max:"100" flag:"pin PATTERN" doc:"patterns of tools that are always listed, such as files__*"`
	Policy        string             `json:"policy,omitempty" flag:"policy FILE" usage:"rules that decide which calls may run; if a rule says ask, the client's user is asked" doc:"a file of rules that decide which calls may run; a relative path is from this file's folder"`
	Shadow        bool               `json:"shadow,omitempty" flag:"shadow" doc:"let every call run; the audit log has the decisions of the rules"`
	Review        string             `json:"review,omitempty" enum:"none,changes,all" default:"none" flag:"review" restart:"server" doc:"withhold tools and prompts whose definitions changed since they were first seen or approved; or all that were not approved: junction server approve"`
	Audit         *Audit             `json:"audit,omitempty" doc:"write every call to a log before its result leaves"`
	Authorization Authorization      `json:"authorization,omitzero" doc:"access tokens and logins, with junction up --auth"`
	Limits        GatewayLimits      `json:"limits,omitzero" doc:"limits of each user, or of each client without a known user, and of the whole gateway"`
	MaxResult     int                `json:"maxResult,omitempty" min:"1000" max:"100000000" doc:"bytes of a result of servers without their own limit; a larger text becomes a resource, and the result a preview of it; by default results stay as they are"`
	Drain         *Drain             `json:"drain,omitempty" doc:"how the gateway ends after SIGTERM"`
	StateKeys     []string           `json:"stateKeys,omitempty" max:"10" doc:"secrets of at least 32 bytes that all replicas of a gateway have, so that each can serve every client over HTTP: ${file:PATH}, ${secret:NAME}, ${VARIABLE}, or the text itself. The first one seals what clients carry between requests, and all open it. Adding the first key, or removing the last one, waits until junction up starts again"`
	Peers         []string           `json:"peers,omitempty" max:"100" doc:"the origins of the replicas, such as http://10.0.0.2:7717, with stateKeys, or a name that has the addresses of all, such as dns+http://junction-peers:7717 or dns+https://junction-peers:7717, which is looked up each three seconds. A replica passes on to them what belongs to another one, with the credentials of the client"`
	Registries    []Registry         `json:"registries,omitempty" max:"100" doc:"registries in which servers are searched; the first one with a server defines it; by default the official registry of MCP"`
	Servers       map[string]Server  `json:"servers,omitempty" max:"1000" doc:"settings of individual servers, by name"`
	Roles         map[string]Role    `json:"roles,omitempty" max:"100" doc:"what callers may do, by names of roles; with at least one, a caller without a role may do nothing"`
	Profiles      map[string]Profile `json:"profiles,omitempty" max:"100" doc:"parts of the offer, each at its endpoint /mcp/NAME, or with --stdio --profile NAME; rules see the name as profile"`
	Listen        Listen             `json:"listen,omitzero" doc:"the addresses of the gateway; not used with --stdio"`
	Auth          []string           `json:"auth,omitempty" max:"10" flag:"auth none|keys|local|URL" restart:"gateway" usage:"with --http: admit clients by none|keys|local|URL: all clients; those with a key of junction key; users of junction user, who log in here (local); or those with a token of the authorization server at a URL; several with commas" doc:"the ways in which clients authenticate: keys of junction key, local for users who log in here, or the URL of an authorization server whose tokens count; not used with --stdio"`
	Telemetry     Telemetry          `json:"telemetry,omitzero" doc:"traces and the log of junction up"`
	State         *State             `json:"state,omitempty" doc:"a store that all replicas of a gateway share, with stateKeys"`
	Approvals     *Approvals         `json:"approvals,omitempty" doc:"calls that rules ask a role about"`
	Tasks         string             `json:"tasks,omitempty" enum:"long,none" default:"long" restart:"gateway" doc:"which calls of clients with tasks become tasks: long ones, after 30 seconds, or none. Choose none for several replicas without state, each of which would know only its own tasks"`
}

// A State is the store that replicas share.
type State struct {
	URL string `json:"url" restart:"gateway" doc:"its URL: postgres://, valkey:// or sqlite:PATH; ${file:PATH}, ${secret:NAME} or ${VARIABLE} has a URL with a password. The store has logins, keys, users, approved definitions, tasks and counts of limits"`
}

// StoreURL returns the URL of the store that replicas share, or a reference to it. It returns ""
// without such a store.
func (s *Settings) StoreURL() string {
	if s.State == nil {
		return ""
	}
	return s.State.URL
}

// Locate makes relative paths relative to folder, the folder of the file with the settings.
func (s *Settings) Locate(folder string) {
	paths := []*string{&s.Policy}
	if s.Audit != nil {
		paths = append(paths, &s.Audit.Folder)
	}
	for i := range s.Registries {
		paths = append(paths, &s.Registries[i].Folder)
	}
	locate := locateIn(folder)
	s.Listen.locate(locate)
	for _, p := range paths {
		*p = locate(*p)
	}
	for name, p := range s.Profiles {
		p.Policy = locate(p.Policy)
		s.Profiles[name] = p
	}
}

// PolicyFiles returns the files of rules that apply to a profile: the profile's own file and the
// common one. If profile is "", it returns the common file.
func (s *Settings) PolicyFiles(profile string) []string {
	return slices.DeleteFunc([]string{s.Profiles[profile].Policy, s.Policy}, func(file string) bool { return file == "" })
}

// SecretVariables returns the names of the environment variables that hold secrets of Junction
// itself.
func (s *Settings) SecretVariables() (names []string) {
	secrets := []SecretFrom{}
	if p := s.Authorization.Provider; p != nil {
		secrets = append(secrets, p.SecretFrom)
	}
	for _, i := range s.Authorization.Issuers {
		secrets = append(secrets, i.SecretFrom)
	}
	for _, c := range secrets {
		if c.SecretEnv != "" {
			names = append(names, c.SecretEnv)
		}
	}
	references := append(slices.Clone(s.StateKeys), s.StoreURL())
	if a := s.Approvals; a != nil && a.Webhook != nil {
		references = append(references, a.Webhook.URL, a.Webhook.Secret)
	}
	for _, r := range s.Registries {
		references = append(references, r.Token)
	}
	for _, text := range references {
		if kind, name := Reference(text); kind == "env" {
			names = append(names, name)
		}
	}
	return names
}

// Audit configures the audit log of calls.
type Audit struct {
	Folder   string `json:"folder,omitempty" flag:"audit FOLDER" restart:"gateway" usage:"write down every call there before its result leaves (--audit alone: junction/audit in your configuration folder)" doc:"the folder of the log; junction/audit in your configuration folder by default"`
	Sync     string `json:"sync,omitempty" enum:"second,call" default:"second" flag:"audit-sync" restart:"gateway" doc:"when a call is on the disk: within a second, or before its result leaves, which is slower"`
	Optional bool   `json:"optional,omitempty" flag:"audit-optional" restart:"gateway" doc:"answer calls that cannot be logged, such as on a full disk, instead of refusing them"`

	Arguments string        `json:"arguments,omitempty" enum:"keep,omit" default:"keep" doc:"whether the log has arguments, up to 4 KiB of each call"`
	Results   string        `json:"results,omitempty" enum:"keep,omit" default:"omit" doc:"whether the log has results, up to 4 KiB of each call"`
	Export    []string      `json:"export,omitempty" max:"10" flag:"audit-export URL" restart:"gateway" doc:"a collector that also gets the lines: https://HOST/v1/logs (OTLP), syslog+tcp://HOST:PORT, syslog+udp://HOST:PORT or syslog+unix:///dev/log"`
	MaxFile   string        `json:"maxFile,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)$" example:"64MB" restart:"gateway" doc:"bytes of a file of the log, 64 MiB by default; then the next one begins"`
	MaxAge    time.Duration `json:"maxAge,omitempty" default:"24h" restart:"gateway" doc:"the time after its first call at which a file ends and the next one begins; at most keepFor"`
	Keep      string        `json:"keep,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)$" example:"1GB" flag:"audit-keep SIZE" restart:"gateway" doc:"bytes of all files, 1 GiB by default; the oldest ones are removed"`
	KeepFor   time.Duration `json:"keepFor,omitempty" example:"2160h" flag:"audit-keep-for DURATION" restart:"gateway" doc:"the time after its last call at which a file is removed; by default its age does not count"`

	Redact []string `json:"redact,omitempty" max:"1000" doc:"further values hidden in arguments and results, in addition to apparent secrets: paths such as /user/email or /items/*/price"`
}

// MaxDrain is the longest time that each member of a Drain may have.
const MaxDrain = 10 * time.Minute

// A Drain configures how an HTTP address shuts down.
type Drain struct {
	Delay *time.Duration `json:"delay,omitempty" example:"10s" flag:"drain-delay TIME" restart:"gateway" usage:"with --http: keep serving for this time after SIGTERM, while /readyz returns 503 (default 3s with --admin)" doc:"the time after SIGTERM in which the gateway still takes requests, while /readyz reports 503 to balancers; by default 3s with --admin, else 0"`
	Time  *time.Duration `json:"time,omitempty" default:"5s" flag:"drain-time TIME" restart:"gateway" usage:"with --http: at the end, give running requests this time to finish" doc:"the time that running requests then have to finish; after it they get an error"`
}

// check returns an error for faults that the schema cannot express.
func (d *Drain) check() error {
	for name, t := range map[string]*time.Duration{"delay": d.Delay, "time": d.Time} {
		if t != nil && (*t < 0 || *t > MaxDrain) {
			return fmt.Errorf("drain.%s: expected up to %v, got %v", name, MaxDrain, *t)
		}
	}
	return nil
}

// Limits limits the number of calls and of bytes. A zero field is no limit.
type Limits struct {
	Rate       string `json:"rate,omitempty" pattern:"^[1-9][0-9]{0,6}/(s|m|h)$" example:"60/m" doc:"calls in a second, minute or hour"`
	Concurrent int    `json:"concurrent,omitempty" min:"1" max:"10000" doc:"calls that run at the same time; further calls wait"`
	Bytes      string `json:"bytes,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)/(s|m|h)$" example:"10MB/h" doc:"bytes of results in a second, minute or hour; above them calls are refused for a while"`
}

// A Server holds the settings of one server.
type Server struct {
	Prefix         *string         `json:"prefix,omitempty" pattern:"^[a-zA-Z0-9_-]{0,40}$" doc:"the prefix of its tools and prompts in place of its name; empty for none"`
	Isolation      string          `json:"isolation,omitempty" enum:"shared,user,client" default:"shared" restart:"server" doc:"whether each user or client has an instance of the server, such as a program with its state"`
	Instances      int             `json:"instances,omitempty" min:"1" max:"1000" default:"16" doc:"the maximum number of instances"`
	Idle           time.Duration   `json:"idle,omitempty" default:"10m" doc:"the time for which an unused instance is kept"`
	Tags           []string        `json:"tags,omitempty" max:"20" doc:"words for its whole offer, for patterns such as tag:WORD"`
	Only           []string        `json:"only,omitempty" max:"1000" doc:"patterns of its offered tools, by the server's names, such as read_*; prompt:PATTERN, resource:PATTERN of URIs and tag:WORD are for others; all by default"`
	Hide           []string        `json:"hide,omitempty" max:"1000" doc:"patterns of the same form for hidden tools and others"`
	Limits         Limits          `json:"limits,omitzero" doc:"limits of all clients together"`
	Secrets        string          `json:"secrets,omitempty" enum:"pass,arguments,results,both" default:"pass" doc:"refuse calls with an apparent key or token in their arguments, withhold such results, or both; examples such as ghp_abcdefghijklmnop do not count"`
	Redact         Redact          `json:"redact,omitzero" doc:"values hidden in the calls of all its tools"`
	Retries        int             `json:"retries,omitempty" min:"1" max:"10" doc:"how often a call without a response is repeated, if the tool is declared read-only or idempotent; by default never. A server that ended is started again. Junction repeats a lost call of this kind once in any case; retries come on top, and each may be repeated once, too"`
	MaxResult      int             `json:"maxResult,omitempty" min:"1000" max:"100000000" doc:"bytes of a result; a larger text becomes a resource, and the result a preview of it"`
	OnSecretChange string          `json:"onSecretChange,omitempty" enum:"restart,keep" doc:"after a change of a secret of its entry (${secret:NAME}, ${file:PATH}): restart it, or keep it until it restarts for another reason. By default a program is kept, and a server with a url or the tools of an API is restarted, while its running calls finish"`
	Sandbox        *Sandbox        `json:"sandbox,omitempty" restart:"server" doc:"confine the server's program: it reads the system, its own package, and the paths listed here"`
	Tools          map[string]Tool `json:"tools,omitempty" max:"1000" doc:"settings of individual tools, by the names that the server gives them"`

	Prompts   map[string]Entry `json:"prompts,omitempty" max:"1000" doc:"settings of individual prompts, by the names that the server gives them"`
	Resources map[string]Entry `json:"resources,omitempty" max:"1000" doc:"settings of individual resources and templates, by URI and URI template"`

	Owner string `json:"owner,omitempty" enum:"each,one" restart:"server" doc:"of several replicas with state and peers, run it at each, or run each of its instances at one, to which the others pass its requests on; by default one if isolation is user or client, and otherwise each"`
}

// An Entry holds the settings of one feature of a server.
type Entry struct {
	Name        string   `json:"name,omitempty" pattern:"^[a-zA-Z0-9_-]{1,64}$" doc:"its name for clients, without a prefix"`
	Title       string   `json:"title,omitempty" max:"200" doc:"its title in place of the server's"`
	Description string   `json:"description,omitempty" max:"10000" doc:"its description in place of the server's"`
	Hide        bool     `json:"hide,omitempty" doc:"do not offer it"`
	Tags        []string `json:"tags,omitempty" max:"20" doc:"words for patterns such as tag:WORD"`
}

// A Tool holds the settings of one tool of a server.
type Tool struct {
	Entry
	Fixed    map[string]json.RawMessage `json:"fixed,omitempty" max:"100" doc:"arguments with fixed values; clients do not see them"`
	Defaults map[string]json.RawMessage `json:"defaults,omitempty" max:"100" doc:"values of arguments that a call omits"`
	Limits   Limits                     `json:"limits,omitzero" doc:"limits of all clients together"`
	Redact   Redact                     `json:"redact,omitzero" doc:"values hidden in its calls"`
}

// Redact lists the values to hide in calls. Each is a path such as /user/email. In a path, *
// matches every member or element.
type Redact struct {
	Arguments []string `json:"arguments,omitempty" max:"100" doc:"paths of values that the server and the audit log get as ***"`
	Results   []string `json:"results,omitempty" max:"100" doc:"paths of values that clients get as ***, in structured content, _meta and texts that are JSON"`
}

// A Profile selects a part of the gateway's features.
type Profile struct {
	Servers []string `json:"servers,omitempty" max:"1000" doc:"its servers; all by default"`
	Only    []string `json:"only,omitempty" max:"1000" doc:"patterns of its tools, by the names that clients see, such as files__*; prompt:PATTERN, resource:PATTERN of URIs and tag:WORD are for others; all by default"`
	Hide    []string `json:"hide,omitempty" max:"1000" doc:"patterns of the same form for tools and others that it omits"`
	Tools   string   `json:"tools,omitempty" enum:"auto,all,search" doc:"the tools that clients see; by default as without a profile"`
	Pin     []string `json:"pin,omitempty" max:"100" doc:"patterns of tools that are always listed"`
	Policy  string   `json:"policy,omitempty" doc:"a file of further rules"`
}

// inferred returns the schema of Settings and a validator for it.
var inferred = sync.OnceValues(func() (json.RawMessage, *schema.Validator) {
	text, err := schema.For(reflect.TypeFor[Settings](), schema.Options{})
	if err != nil {
		panic(err) // tests exclude this
	}
	v, err := schema.Compile(text)
	if err != nil {
		panic(err)
	}
	return text, v
})

// Schema returns the JSON Schema of the settings.
func Schema() json.RawMessage {
	text, _ := inferred()
	return text
}

// Of returns the settings of a server, completed by the settings that all servers share.
func (s *Settings) Of(server string) Server {
	one := s.Servers[server]
	one.MaxResult = cmp.Or(one.MaxResult, s.MaxResult)
	return one
}

// hasOwners reports whether replicas can agree on one that runs an instance.
func (s *Settings) hasOwners() bool { return s.StoreURL() != "" && len(s.Peers) > 0 }

// OwnedByOne reports whether each instance of a server runs at one of the replicas.
func (s *Settings) OwnedByOne(server string) bool {
	one := s.Servers[server]
	switch one.Owner {
	case "one":
		return true
	case "each":
		return false
	}
	return s.hasOwners() && (one.Isolation == "user" || one.Isolation == "client")
}

// Members returns the names of the members of Settings.
func Members() []string {
	var names []string
	for f := range reflect.TypeFor[Settings]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// Parse parses settings from JSON without comments. The error names the path of the fault.
func Parse(raw []byte) (*Settings, error) {
	_, v := inferred()
	if err := v.Validate(raw); err != nil {
		return nil, withDefaults(err)
	}
	s := new(Settings)
	if err := schema.Decode(raw, s); err != nil {
		return nil, err
	}
	return s, s.check()
}

// HasDefaults reports whether a member of this type has an effect as an empty object: it is a
// pointer to a struct without required members.
func HasDefaults(of reflect.Type) bool {
	if of.Kind() != reflect.Pointer || of.Elem().Kind() != reflect.Struct {
		return false
	}
	for field := range of.Elem().Fields() {
		if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); options == "" && !field.Anonymous {
			return false
		}
	}
	return true
}

// defaulted returns the names of the members below a struct for which [HasDefaults] is true.
var defaulted = sync.OnceValue(func() map[string]bool {
	names, seen := map[string]bool{}, map[reflect.Type]bool{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct || seen[of] {
			return
		}
		seen[of] = true
		for field := range of.Fields() {
			if HasDefaults(field.Type) {
				name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
				names[name] = true
			}
			walk(field.Type)
		}
	}
	walk(reflect.TypeFor[Settings]())
	return names
})

// withDefaults adds the empty object to violations about another value in its place.
func withDefaults(err error) error {
	fault, is := errors.AsType[*schema.Error](err)
	if !is {
		return err
	}
	for i := range fault.Violations {
		v := &fault.Violations[i]
		name := v.Path[strings.LastIndex(v.Path, ".")+1:]
		if v.Expected == "object or null" && defaulted()[name] {
			v.Expected = fmt.Sprintf("an object, such as %q: {} for the defaults", name)
		}
	}
	return err
}

// minAuditAge is the shortest time before a file of the audit log is closed or removed.
const minAuditAge = time.Minute

// longEnough returns an error if age is shorter than minAuditAge. 0 is valid and means the default.
func longEnough(at string, age time.Duration) error {
	if age != 0 && age < minAuditAge {
		return fmt.Errorf("%s: expected at least %v, got %v", at, minAuditAge, age)
	}
	return nil
}

var profileName = lazy.Regexp(`^[a-zA-Z0-9_-]{1,64}$`)

// check returns the faults that the schema cannot express.
func (s *Settings) check() error {
	var faults []error
	patterns := func(at string, list []string) {
		for i, p := range list {
			if _, err := path.Match(p, ""); err != nil {
				faults = append(faults, fmt.Errorf("%s[%d]: %q is not a valid pattern: %w", at, i, p, err))
			}
		}
	}
	selection := func(at string, only, hide []string) {
		if _, err := NewPatterns(only, hide); err != nil {
			faults = append(faults, fmt.Errorf("%s.%w", at, err))
		}
	}
	patterns("pin", s.Pin)
	faults = append(faults, s.checkRoles()...)
	faults = append(faults, s.Authorization.check())
	if s.Drain != nil {
		faults = append(faults, s.Drain.check())
	}
	faults = append(faults, s.checkStateKeys(), s.checkPeers(), s.checkState(), s.Listen.check(), checkAuth(s.Auth), s.Limits.check(), s.Approvals.check())
	if old, now := s.Authorization.URL, s.Listen.PublicURL; old != "" && now != "" && old != now {
		faults = append(faults, fmt.Errorf("authorization.url: it is an older name of listen.publicURL, which has another value: %q and %q; remove it", old, now))
	}
	faults = append(faults, s.checkRedact()...)
	for i := range s.Registries {
		faults = append(faults, s.Registries[i].check(i))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		server, at := s.Servers[name], "servers."+name
		selection(at, server.Only, server.Hide)
		if server.Isolation == "" || server.Isolation == "shared" {
			if server.Instances > 0 || server.Idle > 0 && server.Owner != "one" {
				faults = append(faults, fmt.Errorf(`%s: instances and idle go with isolation "user" or "client"`, at))
			}
		}
		if server.Owner == "one" && !s.hasOwners() {
			faults = append(faults, fmt.Errorf(`%s.owner: "one" needs state.url, in which replicas agree on the one, and peers, to which they pass requests on`, at))
		}
		if server.Idle < 0 {
			faults = append(faults, fmt.Errorf("%s.idle: expected a positive duration, got %v", at, server.Idle))
		}
		faults = append(faults, server.checkNames(at))
	}
	if s.Audit != nil {
		faults = append(faults, longEnough("audit.maxAge", s.Audit.MaxAge), longEnough("audit.keepFor", s.Audit.KeepFor))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		p, at := s.Profiles[name], "profiles."+name
		if !profileName().MatchString(name) {
			faults = append(faults, fmt.Errorf("%s: expected a name of letters, digits, _ and -", at))
		}
		selection(at, p.Only, p.Hide)
		patterns(at+".pin", p.Pin)
	}
	return errors.Join(faults...)
}

// checkNames returns an error if the settings give two tools, or two prompts, of a server the same
// name.
func (s *Server) checkNames(at string) error {
	tools := map[string]Entry{}
	for name, t := range s.Tools {
		tools[name] = t.Entry
	}
	for kind, all := range map[string]map[string]Entry{"tools": tools, "prompts": s.Prompts} {
		by := map[string]string{}
		for _, own := range slices.Sorted(maps.Keys(all)) {
			name := all[own].Name
			if before := by[name]; name != "" && before != "" {
				return fmt.Errorf("%s.%s: %q and %q have the same name %q", at, kind, before, own, name)
			}
			by[name] = own
		}
	}
	return nil
}

// Volume returns the number of bytes that [Limits.Bytes] allows in the duration in. It returns 0
// without a limit.
func (l Limits) Volume() (bytes int, in time.Duration) {
	size, unit, found := strings.Cut(l.Bytes, "/")
	n, ok := Size(size)
	if !found || !ok {
		return 0, 0
	}
	return int(n), timeOf(unit)
}

// Size parses a number of bytes such as 64MB. KB, MB and GB are powers of 1000. ok is false for any
// other text.
func Size(text string) (bytes int64, ok bool) {
	if len(text) < 3 {
		return 0, false
	}
	n, err := strconv.ParseInt(text[:len(text)-2], 10, 64)
	unit := map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9}[text[len(text)-2:]]
	return n * unit, err == nil && unit > 0 && n > 0 && n < 1e6
}

// Per returns the number of calls that [Limits.Rate] allows in the duration in. It returns 0
// without a limit.
func (l Limits) Per() (calls int, in time.Duration) {
	var unit string
	if n, _ := fmt.Sscanf(l.Rate, "%d/%s", &calls, &unit); n < 2 {
		return 0, 0
	}
	return calls, timeOf(unit)
}

func timeOf(unit string) time.Duration {
	return map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour}[unit]
}

// A Sandbox holds the permissions of a confined program.
type Sandbox struct {
	Read      []string `json:"read,omitempty" max:"200" doc:"folders and files that it may read, absolute or below ~/"`
	Write     []string `json:"write,omitempty" max:"200" doc:"folders and files that it may read and write; a missing one is created, as a file if the name has an extension, such as notes.db"`
	Hosts     []string `json:"hosts,omitempty" max:"200" doc:"hosts that it may connect to at ports 443 and 80: api.example.com, *.example.com (not example.com itself), 10.0.0.5 or localhost; HOST:PORT for another port"`
	Env       []string `json:"env,omitempty" max:"200" doc:"names of variables from Junction's environment that it gets, in addition to those of its entry"`
	Processes int      `json:"processes,omitempty" min:"1" max:"100000" default:"512" doc:"the maximum number of processes and threads"`
	Memory    string   `json:"memory,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)$" default:"4GB" doc:"the maximum memory"`
	CPU       float64  `json:"cpu,omitempty" min:"0.01" max:"1000" example:"0.5" doc:"the maximum number of cores; all by default"`
	Files     int      `json:"files,omitempty" min:"16" max:"1000000" default:"4096" doc:"the maximum number of open files of each process"`
	By        string   `json:"by,omitempty" enum:"docker,podman" doc:"run it in a container of this engine instead of the system's own means; the container reaches no host, or all with the host *"`
	Image     string   `json:"image,omitempty" max:"500" example:"node:22-slim" doc:"the image of the container; not for entries that run docker or podman, which name their own"`
	Watch     bool     `json:"watch,omitempty" doc:"log refused reads of every start, which makes each opened file some 20 µs slower; by default only until one use without a refusal"`
	Weaker    bool     `json:"weaker,omitempty" doc:"start it even if this system cannot confine all of it; by default the start is refused with the reason"`
}

// checkRedact returns an error for each malformed path. Such a path would hide nothing.
func (s *Settings) checkRedact() (faults []error) {
	check := func(at string, paths []string) {
		for _, path := range paths {
			if _, err := pointer.Split(path); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", at, err))
			}
		}
	}
	both := func(at string, r Redact) {
		check(at+".redact.arguments", r.Arguments)
		check(at+".redact.results", r.Results)
	}
	if s.Audit != nil {
		check("audit.redact", s.Audit.Redact)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Servers)) {
		server, at := s.Servers[name], "servers."+name
		both(at, server.Redact)
		for _, tool := range slices.Sorted(maps.Keys(server.Tools)) {
			both(at+".tools."+tool, server.Tools[tool].Redact)
		}
	}
	return faults
}
