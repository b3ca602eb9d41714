package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// carried returns the entries to import.
func (i *importing) carried() (list []*hostconfig.Carried) {
	for _, it := range i.found {
		if it.as != nil {
			list = append(list, it.as)
		}
	}
	return list
}

// finish shows the changes, asks for confirmation, and writes them.
func (i *importing) finish(ctx context.Context) error {
	after, err := i.plan(ctx)
	if err != nil {
		return err
	}
	switch {
	case len(i.found) == 0:
		i.Out.Printf("No server was found to copy.\n")
	case after == nil:
		i.Out.Printf("%s has all of these servers already.\n", i.Short(i.path))
	}
	if after != nil && !i.dry {
		if err := i.agree(ctx, "Write this to "+i.Short(i.path)+"?"); err != nil {
			return err
		}
		if err := i.write(ctx, after); err != nil {
			return err
		}
	}
	if i.Unread != nil {
		return errors.New("some files of the hosts could not be read")
	}
	return nil
}

// plan shows the decisions, and returns the new content of junction's file. It returns nil if
// nothing changes.
func (i *importing) plan(ctx context.Context) (after []byte, err error) {
	if err := i.settleSecrets(ctx); err != nil {
		return nil, err
	}
	list := i.carried()
	if len(list) > 0 {
		if after, err = i.own.Add(list); err != nil {
			return nil, fmt.Errorf("%s: %w", i.path, err)
		}
	}
	i.show(after)
	return after, nil
}

// show prints the decision about each entry.
func (i *importing) show(after []byte) {
	file := ""
	for _, it := range i.found {
		if file != it.file {
			file = it.file
			i.Out.Printf("%s, %s\n", it.host.Name, i.Short(file))
		}
		name := plaintext.Line(it.entry.Name, 80)
		switch {
		case it.same != "" && it.same == it.entry.Name:
			i.Out.Printf("  %s: exists already\n", name)
			continue
		case it.same != "":
			i.Out.Printf("  %s: exists already as %s\n", name, plaintext.Line(it.same, 80))
			continue
		case it.as == nil:
			i.Out.Printf("  %s: not copied: %s\n", name, plaintext.Line(it.why, cli.MaxReason))
			continue
		}
		d, err := parseOwn(i.path, after, it.as.Name)
		if err != nil { // unreachable: consider parsed the entry before
			i.Out.Printf("  %s: %v\n", name, err)
			continue
		}
		i.Out.Printf("  %s\n", plaintext.Line(d.String(), cli.MaxReason))
		notes := it.as.Notes
		if it.why != "" {
			notes = append([]string{"called " + it.as.Name + ": " + it.why}, notes...)
		}
		if it.as.Disabled {
			notes = append(notes, "it is disabled")
		}
		if len(it.as.Left) > 0 {
			notes = append(notes, "not carried over: "+strings.Join(it.as.Left, ", "))
		}
		for _, note := range notes {
			i.Out.Printf("    %s\n", plaintext.Line(note, cli.MaxReason))
		}
	}
}

// agree asks the user for confirmation unless --yes is set. It returns an error if the user
// declines.
func (i *importing) agree(ctx context.Context, question string) error {
	if i.yes {
		return nil
	}
	is, err := askYes(ctx, i.App, question)
	if err == nil && !is {
		err = errors.New("nothing was changed")
	}
	return err
}

// askYes asks the user a yes-or-no question. Enter alone means yes.
func askYes(ctx context.Context, a *cli.App, question string) (bool, error) {
	if !a.CanAsk() {
		return false, errors.New("not a terminal: --yes confirms, and --dry-run only shows")
	}
	end, err := a.Person.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	word, err := answer.Choose(ctx, a.Person, question+" [Y]es, [n]o > ", "", "y|yes|", "n|no")
	return word == "y", err
}

// write stores the secrets, then writes junction's own file.
func (i *importing) write(ctx context.Context, after []byte) error {
	for _, p := range i.plain {
		if err := account.StoreSecret(ctx, i.App, p.Secret, p.Value); err != nil {
			return fmt.Errorf("the secret could not be kept, so nothing was written: %w", err)
		}
	}
	if err := hostconfig.Replace(i.own, after); err != nil {
		return fmt.Errorf("%s was not written: %w", i.path, err)
	}
	i.Out.Printf("Added to %s: %s\n", i.Short(i.path), plaintext.Count(len(i.carried()), "server"))
	return i.askNeeds(ctx)
}

// askNeeds asks the user for the secrets that a host would ask for, or that it stores elsewhere.
func (i *importing) askNeeds(ctx context.Context) error {
	var needs []string
	for _, c := range i.carried() {
		needs = append(needs, c.Needs...)
	}
	slices.Sort(needs)
	for _, name := range slices.Compact(needs) {
		if kept, err := account.HasSecret(ctx, i.App, name); err != nil || kept {
			if err != nil {
				return err
			}
			continue
		}
		value := ""
		if !i.yes && i.CanAsk() {
			var err error
			if value, err = i.Person.Secret(ctx, "Value of "+name+", which is not shown (Enter: later): "); err != nil {
				return err
			}
		}
		if value == "" {
			i.Out.Printf("Its server needs this before it can start: junction secret set %s\n", name)
		} else if err := account.StoreSecret(ctx, i.App, name, value); err != nil {
			return err
		}
	}
	return nil
}
