package use

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
)

// listAll lists what every configured server has, or those with these names; about says where each is defined, too, and of those
// that are switched off that they are. The error says that some could not be asked, and was reported.
func listAll(ctx context.Context, a *cli.App, l reach.List, names []string, refresh, about bool) error {
	set, all, err := reach.Recall(ctx, a, l, names, refresh)
	if err != nil {
		return err
	}
	if !about {
		all = slices.DeleteFunc(all, func(s reach.ListedServer) bool { return !s.Open && !s.Listing.Remembered }) // switched off
	}
	err = reach.AskOpen(ctx, a, l, all, len(names) > 0, listPrinter(a, l))
	switch {
	case ctx.Err() != nil:
		reportFailed(a, all)
		return cmp.Or(err, context.Cause(ctx)) // it may have ended just now
	case err != nil:
		return err
	case !a.Flags.JSON:
		if l.Brief != nil {
			a.Screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.Command)
		}
	case about:
		err = printListed(a, l, all, about)
	default:
		err = printListed(a, l, append(reach.UnusableServers(set), all...), about)
	}
	if err != nil {
		return err
	}
	if reportFailed(a, all) || a.Faulty && len(names) == 0 {
		return cli.ErrReported
	}
	return nil
}

// listPrinter prints what one server lists after the other for people; with --json it prints nothing, as all are one object.
func listPrinter(a *cli.App, l reach.List) func(*reach.ListedServer) error {
	between := ""
	return func(s *reach.ListedServer) error {
		if a.Flags.JSON {
			return nil
		}
		a.Out.Printf("%s━━ %s  (%s)\n", between, plaintext.Line(s.Entry.Name, 80), plaintext.Line(s.About(a.Place, l), 2*cli.MaxReason))
		between = "\n"
		return printList(a, l, s.Entry.Name, s.Listing.Entries)
	}
}

// reportFailed says in one line each why servers could not be asked, and in one of them all which did not answer, and reports
// whether there are any.
func reportFailed(a *cli.App, all []reach.ListedServer) (failed bool) {
	var silent []string
	var refused []error
	for _, s := range all {
		switch {
		case s.Listing.Err == nil:
			continue
		case errors.As(s.Listing.Err, new(*reach.ConsentError)):
			refused = append(refused, s.Listing.Err)
		case s.IsSilent() && !a.Launch.Verbose:
			silent = append(silent, plaintext.Line(s.Entry.Name, 80))
		default:
			a.Screen.Printf("junction: %s\n", Failure(a, s))
		}
		failed = true
	}
	for _, line := range reach.NotStarted(refused) {
		a.Screen.Printf("junction: %s\n", line)
	}
	if len(silent) > 0 {
		a.Screen.Printf("junction: no answer from %s\n", strings.Join(silent, ", "))
	}
	return failed
}

// Failure is the line that says why a server could not be asked; with --verbose all
// that is known.
func Failure(a *cli.App, s reach.ListedServer) string {
	if a.Launch.Verbose {
		return s.Listing.Err.Error()
	}
	return fmt.Sprintf("server %q: %s", s.Entry.Name, why.Of(s.Listing.Err, s.Entry.Name))
}
