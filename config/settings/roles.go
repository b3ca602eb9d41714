package settings

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// A Role lets callers use a part of the offer. A missing member restricts nothing.
type Role struct {
	Who      []string `json:"who" max:"10000" doc:"its callers: user:NAME, group:NAME, key:NAME, client:NAME of a certificate, or * for all that are authenticated"`
	Issuer   string   `json:"issuer,omitempty" example:"https://login.example.com" doc:"the issuer of the users and groups; by default any that --auth names"`
	Profiles []string `json:"profiles,omitempty" max:"100" doc:"its profiles: callers reach no others, and see only what these offer at the whole gateway, too; by default all, and what is in none"`
	Tools    []string `json:"tools,omitempty" max:"1000" doc:"patterns of what it may use, by the names that clients see, such as files__*, prompt:PATTERN, resource:PATTERN of URIs and tag:WORD; nothing else may be used. By default all"`
	Rate     string   `json:"rate,omitempty" pattern:"^[1-9][0-9]{0,6}/(s|m|h)$" example:"60/m" doc:"calls of each caller in a second, minute or hour, in place of limits.rate"`
	Budget   string   `json:"budget,omitempty" pattern:"^[1-9][0-9]{0,5}(KB|MB|GB)/(s|m|h)$" example:"10MB/h" doc:"bytes of results of each caller in a second, minute or hour, in place of limits.bytes"`
	Console  []string `json:"console,omitempty" enum:"servers,audit,logins,keys" max:"10" doc:"what its callers see at /team in addition to their own calls and the calls that wait for them: servers and their states, the audit log of all callers, the users who are logged in, and their own keys, which they can make and remove"`
}

// The parts of the team's page in [Role.Console].
const (
	ConsoleServers = "servers"
	ConsoleAudit   = "audit"
	ConsoleLogins  = "logins"
	ConsoleKeys    = "keys"
)

// The kinds of callers in [Role.Who], and Everyone, which means all.
const (
	UserCaller   = "user"
	GroupCaller  = "group"
	KeyCaller    = "key"
	ClientCaller = "client" // has a certificate
	Everyone     = "*"
)

var callers = []string{UserCaller, GroupCaller, KeyCaller, ClientCaller}

// Patterns returns the patterns of the role. Without Tools they match everything, otherwise only
// what Tools names.
func (r *Role) Patterns() *Patterns {
	only := r.Tools
	if len(only) > 0 { // the added patterns match no name, and restrict the kinds that the others do not name
		only = append(slices.Clone(only), "tool:", "prompt:", "resource:")
	}
	return mustPatterns(only, nil)
}

// Caller splits an entry of Who into the kind and the name of the caller. The name of [Everyone] is
// empty.
func Caller(who string) (kind, name string, err error) {
	kind, name, _ = strings.Cut(who, ":")
	switch {
	case who == Everyone:
		return who, "", nil
	case !slices.Contains(callers, kind) || name == "":
		return "", "", fmt.Errorf("expected user:NAME, group:NAME, key:NAME, client:NAME or *, got %q", who)
	}
	return kind, name, nil
}

// ServersOf returns the servers that the profiles of a role have; nil means all.
func (s *Settings) ServersOf(r Role) []string {
	if len(r.Profiles) == 0 {
		return nil
	}
	servers := []string{}
	for _, name := range r.Profiles {
		p, found := s.Profiles[name]
		if found && len(p.Servers) == 0 {
			return nil
		}
		servers = append(servers, p.Servers...)
	}
	return servers
}

// checkRoles returns the faults of roles that the schema cannot express.
func (s *Settings) checkRoles() (faults []error) {
	for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
		r, at := s.Roles[name], "roles."+name
		if !profileName().MatchString(name) {
			faults = append(faults, fmt.Errorf("%s: expected a name of letters, digits, _ and -", at))
		}
		for i, who := range r.Who {
			if _, _, err := Caller(who); err != nil {
				faults = append(faults, fmt.Errorf("%s.who[%d]: %w", at, i, err))
			}
		}
		for i, text := range r.Tools {
			if _, err := path.Match(parsePattern(text).text, ""); err != nil {
				faults = append(faults, fmt.Errorf("%s.tools[%d]: %q is not a valid pattern: %w", at, i, text, err))
			}
		}
		for member, list := range map[string][]string{"profiles": r.Profiles, "tools": r.Tools} {
			if list != nil && len(list) == 0 { // neither all nor none would be safe to assume
				faults = append(faults, fmt.Errorf("%s.%s: the list is empty; leave it out for all", at, member))
			}
		}
	}
	return faults
}

// GroupRoles reports whether a role names a group.
func (s *Settings) GroupRoles() bool {
	for _, r := range s.Roles {
		if slices.ContainsFunc(r.Who, func(who string) bool { return strings.HasPrefix(who, GroupCaller+":") }) {
			return true
		}
	}
	return false
}
