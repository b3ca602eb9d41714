package settings

import (
	"reflect"
	"slices"
	"strings"
)

// A Restart is the value of the tag "restart" of a member. It names the part that must restart
// before a change of the member takes effect. A change of a member without the tag takes effect at
// once.
type Restart string

// The values of the tag "restart".
const (
	RestartServer  Restart = "server"  // the server, which junction up restarts itself
	RestartGateway Restart = "gateway" // junction up
	RestartTokens  Restart = "tokens"  // junction up, but only if the member has an effect, which it has with tokens only
)

// Effect returns the time at which a change of a member with the tag takes effect.
func (r Restart) Effect() string {
	switch r {
	case RestartServer:
		return "at once: the server starts anew"
	case RestartGateway, RestartTokens:
		return "when junction up starts again"
	}
	return "at once"
}

// Members returns the members of v that have the tag: their values by their paths. v is a struct of
// this package. The members of servers and profiles are omitted, but v itself can be a [Server].
func (r Restart) Members(v any) map[string]any {
	found := map[string]any{}
	r.collect(reflect.ValueOf(v), "", found)
	return found
}

func (r Restart) collect(v reflect.Value, at string, found map[string]any) {
	for field, value := range v.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if Restart(field.Tag.Get("restart")) == r {
			found[at+name] = value.Interface()
			continue
		}
		if of := value.Type(); of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct {
			if value = value.Elem(); !value.IsValid() {
				value = reflect.Zero(of.Elem())
			}
		}
		switch {
		case value.Kind() != reflect.Struct:
		case field.Anonymous:
			r.collect(value, at, found)
		default:
			r.collect(value, at+name+".", found)
		}
	}
}

// Waiting returns the paths of the members with tag r whose values in s and next differ, and names
// for other changes that wait for the same restart.
func (s *Settings) Waiting(next *Settings, r Restart) (paths []string) {
	now, then := r.Members(*s), r.Members(*next)
	for path := range now {
		if !reflect.DeepEqual(now[path], then[path]) {
			paths = append(paths, path)
		}
	}
	if r == RestartGateway && (s.Audit == nil) != (next.Audit == nil) {
		paths = append(paths, "audit")
	}
	if r == RestartGateway && (len(s.StateKeys) == 0) != (len(next.StateKeys) == 0) {
		paths = append(paths, "stateKeys")
	}
	a, b := s.Authorization, next.Authorization
	if r == RestartTokens && !slices.Equal(a.All(), b.All()) { // tokens can have scopes that only the settings of tools name
		if a, b = (Authorization{Tools: a.Tools}), (Authorization{Tools: b.Tools}); !slices.Equal(a.All(), b.All()) {
			paths = append(paths, "authorization.tools")
		}
	}
	if r == RestartTokens && next.Authorization.Provider != nil && next.GroupRoles() && !s.GroupRoles() { // logins have no groups so far
		paths = append(paths, "roles (groups of the provider)")
	}
	slices.Sort(paths)
	return paths
}
