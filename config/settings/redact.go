package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/pointer"
)

// checkRedact says which paths of what is hidden are none: they would hide nothing.
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
