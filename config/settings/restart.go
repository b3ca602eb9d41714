package settings

import (
	"reflect"
	"slices"
	"strings"
)

// A Restart is the tag restart of a member. It names the part that must restart before a change of
// the member takes effect. Changes of members without the tag take effect at once.
type Restart string

// The values of the tag restart.
const (
	RestartServer  Restart = "server"  // the server; junction up restarts it itself
	RestartGateway Restart = "gateway" // junction up
	RestartTokens  Restart = "tokens"  // junction up; the member only has an effect with tokens
)

// Members returns the values of the members of v, a struct of this package, that have the tag, by
// their paths. It omits those of servers and profiles; v can be a [Server].
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
		if value.Kind() == reflect.Struct {
			r.collect(value, at+name+".", found)
		}
	}
}

// Waiting returns the paths of the members with the tag that differ in next.
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
	a, b := s.Authorization, next.Authorization
	if r == RestartTokens && !slices.Equal(a.All(), b.All()) { // tokens can have scopes that only tools name
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
