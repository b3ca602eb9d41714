package reach

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/place"
)

// Nothing says that there is no server, and why, if there is none.
func Nothing(why string, set *config.Set, entries []cli.Entry) error {
	var files []string
	for _, f := range set.Files {
		files = append(files, f.Path)
	}
	switch in := strings.Join(files, ", "); {
	case slices.ContainsFunc(entries, func(e cli.Entry) bool { return e.Definition == nil || !e.Definition.Disabled }):
		return nil
	case len(entries) > 0:
		return fmt.Errorf("%s: all of %s are disabled", why, in)
	case len(set.Problems()) > 0 || len(files) == 0:
		return errors.New(why) // the problems were shown
	default:
		return fmt.Errorf(`%s: %s defines none; expected {"mcpServers": {NAME: {…}}}`, why, in)
	}
}

// Chosen returns the servers with these names, or all where there are none.
func Chosen(entries []cli.Entry, set *config.Set, names []string) ([]cli.Entry, error) {
	if len(names) == 0 {
		return entries, nil
	}
	var some []cli.Entry
	for k, name := range names {
		if slices.Contains(names[:k], name) {
			continue
		}
		e, err := Enabled(name, set, entries)
		if err != nil {
			return nil, err
		}
		some = append(some, e)
	}
	return some, nil
}

// Startable reports whether there is a program to start. One that is missing fails
// at once: it need not wait until others have started.
func Startable(p place.Place, s *config.Server) bool {
	if _, changed := s.Env["PATH"]; filepath.IsAbs(s.Command) || !changed {
		_, err := p.LookPath(s.Command)
		return err == nil
	}
	return true // starting it says
}
