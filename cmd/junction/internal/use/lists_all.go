package use

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
)

// listAll prints the lists of all configured servers, or of the named ones. If about is set, it
// includes disabled servers, and where each server is defined. It returns [cli.ErrReported] if some
// servers failed.
func listAll(ctx context.Context, a *cli.App, l List, names []string, refresh, about bool) error {
	set, all, err := StoredLists(ctx, a, l, names, refresh)
	if err != nil {
		return err
	}
	if !about {
		all = slices.DeleteFunc(all, func(s ListedServer) bool { return !s.Open && !s.Listing.Remembered }) // drops disabled servers
	}
	err = FetchLists(ctx, a, l, all, len(names) > 0, listPrinter(a, l))
	switch {
	case ctx.Err() != nil:
		reportFailed(a, all)
		return cmp.Or(err, context.Cause(ctx)) // ctx may have ended after FetchLists
	case err != nil:
		return err
	case !a.Flags.JSON:
		if l.Brief != nil {
			a.Screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.Command)
		}
	case about:
		err = printListed(a, l, all, about)
	default:
		err = printListed(a, l, append(UnusableServers(set), all...), about)
	}
	if err != nil {
		return err
	}
	if reportFailed(a, all) || a.Faulty && len(names) == 0 {
		return cli.ErrReported
	}
	return nil
}

// listPrinter returns a function that prints the list of each server as text. With --json, the
// function prints nothing, because all lists form a single JSON object.
func listPrinter(a *cli.App, l List) func(*ListedServer) error {
	between := ""
	return func(s *ListedServer) error {
		if a.Flags.JSON {
			return nil
		}
		a.Out.Printf("%s━━ %s  (%s)\n", between, plaintext.Line(s.Entry.Name, 80), plaintext.Line(s.About(a.Place, l), 2*cli.MaxReason))
		between = "\n"
		return printList(a, l, s.Entry.Name, s.Listing.Entries)
	}
}

// reportFailed prints why servers could not be listed. It prints all servers that did not answer in
// one line. It reports whether any server failed.
func reportFailed(a *cli.App, all []ListedServer) (failed bool) {
	var silent []string
	var refused []error
	for _, s := range all {
		switch {
		case s.Listing.Err == nil:
			continue
		case errors.As(s.Listing.Err, new(*launch.ConsentError)):
			refused = append(refused, s.Listing.Err)
		case s.IsSilent() && !a.Launch.Verbose:
			silent = append(silent, plaintext.Line(s.Entry.Name, 80))
		default:
			a.Screen.Printf("junction: %s\n", FailureLine(a, s))
		}
		failed = true
	}
	for _, line := range launch.ConsentLines(refused) {
		a.Screen.Printf("junction: %s\n", line)
	}
	if len(silent) > 0 {
		a.Screen.Printf("junction: no answer from %s\n", strings.Join(silent, ", "))
	}
	return failed
}

// FailureLine explains in one line why a server could not be listed. With --verbose, it returns the
// whole error.
func FailureLine(a *cli.App, s ListedServer) string {
	if a.Launch.Verbose {
		return s.Listing.Err.Error()
	}
	return fmt.Sprintf("server %q: %s", s.Entry.Name, why.Of(s.Listing.Err, s.Entry.Name))
}
