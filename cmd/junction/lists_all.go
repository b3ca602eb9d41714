package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
)

// listAll lists what every configured server has, or those with these names; about says where each is defined, too, and of those
// that are switched off that they are. The error says that some could not be asked, and was reported.
func listAll(ctx context.Context, a *cli.App, l list, names []string, refresh, about bool) error {
	set, all, err := recall(ctx, a, l, names, refresh)
	if err != nil {
		return err
	}
	if !about {
		all = slices.DeleteFunc(all, func(s listedServer) bool { return !s.open && !s.listing.remembered }) // switched off
	}
	err = askOpen(ctx, a, l, all, len(names) > 0, listPrinter(a, l))
	switch {
	case ctx.Err() != nil:
		reportFailed(a, all)
		return cmp.Or(err, context.Cause(ctx)) // it may have ended just now
	case err != nil:
		return err
	case !a.Flags.JSON:
		if l.brief != nil {
			a.Screen.Printf("(--long shows them in full; junction %s SERVER TOOL shows one.)\n", l.command)
		}
	case about:
		err = printListed(a, l, all, about)
	default:
		err = printListed(a, l, append(unusableServers(set), all...), about)
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
func listPrinter(a *cli.App, l list) func(*listedServer) error {
	between := ""
	return func(s *listedServer) error {
		if a.Flags.JSON {
			return nil
		}
		a.Out.Printf("%s━━ %s  (%s)\n", between, plaintext.Line(s.entry.Name, 80), plaintext.Line(s.about(a.Place, l), 2*cli.MaxReason))
		between = "\n"
		return printList(a, l, s.entry.Name, s.listing.entries)
	}
}

// about says where a server is defined, and how many entries it has, or why none are known.
func (s listedServer) about(p place.Place, l list) string {
	details := []string{s.entry.Origin(p)}
	switch {
	case s.entry.IsDisabled():
		details = append(details, "disabled")
	case errors.As(s.listing.err, new(*consentError)):
		details = append(details, "not agreed to")
	case s.listing.err != nil:
		details = append(details, "not connected: "+plaintext.Line(why.Of(s.listing.err, s.entry.Name), cli.MaxReason))
	case s.listing.runs.IsFailing():
		details = append(details, s.listing.runs.About())
	default:
		details = append(details, plaintext.Count(len(s.listing.entries), l.Noun))
		if s.listing.remembered {
			details = append(details, cmp.Or(s.listing.runs.About(), s.entry.AtRest()+cli.AsOf(s.listing.read)))
		}
	}
	return strings.Join(details, ", ")
}

// reportFailed says in one line each why servers could not be asked, and in one of them all which did not answer, and reports
// whether there are any.
func reportFailed(a *cli.App, all []listedServer) (failed bool) {
	var silent []string
	var refused []error
	for _, s := range all {
		switch {
		case s.listing.err == nil:
			continue
		case errors.As(s.listing.err, new(*consentError)):
			refused = append(refused, s.listing.err)
		case s.isSilent() && !a.Launch.Verbose:
			silent = append(silent, plaintext.Line(s.entry.Name, 80))
		default:
			a.Screen.Printf("junction: %s\n", failure(a, s))
		}
		failed = true
	}
	for _, line := range notStarted(refused) {
		a.Screen.Printf("junction: %s\n", line)
	}
	if len(silent) > 0 {
		a.Screen.Printf("junction: no answer from %s\n", strings.Join(silent, ", "))
	}
	return failed
}

// isSilent reports whether nobody waited for a server any longer before it was connected, in which case nothing else is known of it.
func (s listedServer) isSilent() bool {
	err := s.listing.err
	ended := errors.Is(err, cli.ErrInterrupted) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	return ended && errors.As(err, new(*cli.ConnectError))
}

// failure is the line that says why a server could not be asked; with --verbose all
// that is known.
func failure(a *cli.App, s listedServer) string {
	if a.Launch.Verbose {
		return s.listing.err.Error()
	}
	return fmt.Sprintf("server %q: %s", s.entry.Name, why.Of(s.listing.err, s.entry.Name))
}
