package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/registry"
)

// adder returns what adds and upgrades servers of the user's configuration.
func adder(a *cli.App) *add.Adder {
	return &add.Adder{
		Launcher:      &a.Launch,
		Prompter:      terminalPrompter{a},
		Configured:    func() (add.Configured, error) { return configuredForAdd(a) },
		Secret:        a.Secret,
		KeepSecret:    func(ctx context.Context, name string, value string) error { return storeSecret(ctx, a, name, value) },
		ClientOptions: func(t launch.Target) mcp.ClientOptions { return options(a, t) },
		Remember:      func(s *config.Server, read *definitions.Definitions) { a.Keep(s, "", read) },
		CheckLock: func(d *config.Definition, locked *install.LockedServer) error {
			return agreedLock(a, cli.Entry{Name: d.Name, Definition: d}, locked)
		},
		Added:  func(d *config.Definition) { consentTo(a, d) },
		Remedy: func(err error, server string, isProgram bool) string { return startRemedy(isProgram, err, server, 0) },
		Busy:   func(doing string) func() { return busy(a, doing) },
	}
}

// configuredForAdd returns the configuration, with the settings that confine servers. A file that cannot be read is reported, and counts as empty.
func configuredForAdd(a *cli.App) (c add.Configured, err error) {
	set, entries, _ := configuredServers(a)
	if set == nil {
		return c, nil
	}
	for _, e := range entries {
		if e.Definition != nil {
			c.Servers = append(c.Servers, e.Definition)
		}
	}
	c.Settings, err = quietSettings(set, len(a.Flags.Config) > 0)
	return c, err
}

// consentTo remembers that the person agreed to start a server of a project, as they did when it was shown.
func consentTo(a *cli.App, d *config.Definition) {
	if d.Project {
		_ = changeConsents(a, func(said map[string]bool) { said[consentKey(a, cli.Entry{Name: d.Name, Definition: d})] = true }) // else it is asked again
	}
}

// adderRegistries are the registries that the command line names.
type adderRegistries struct {
	app   *cli.App
	flags registryFlags
}

// Find implements [add.Registries].
func (r *adderRegistries) Find(ctx context.Context, name string) (*registry.Entry, []string, error) {
	m, _, err := freshMirror(ctx, r.app, r.flags)
	if err != nil {
		return nil, nil, err
	}
	e, err := registered(ctx, r.app, m, name)
	if err != nil {
		return nil, nil, err
	}
	var some []string
	suspicions, err := suspicionsOf(ctx, m, &e)
	for _, s := range suspicions {
		if s.Severity >= guard.Warn {
			some = append(some, plaintext.Line(s.Where+": "+s.Why, cli.MaxReason))
		}
	}
	return &e, some, err
}

// Similar implements [add.Registries].
func (r *adderRegistries) Similar(ctx context.Context, kind, identifier string) ([]registry.Likeness, error) {
	m, err := openMirror(ctx, r.app, r.flags)
	if err != nil {
		return nil, err
	}
	return m.SimilarPackage(ctx, kind, identifier)
}

// terminalPrompter asks at the terminal.
type terminalPrompter struct{ *cli.App }

// Asks implements [add.Prompter].
func (p terminalPrompter) Asks() bool { return p.Asks() }

// Choose implements [add.Prompter].
func (p terminalPrompter) Choose(ctx context.Context, question string, choices []add.Choice) (string, error) {
	for _, c := range choices {
		question += " " + c.Label + ","
	}
	p.Person.Discard() // what the user typed while a package was installed: it answers no question
	typed, err := p.Person.Line(ctx, question+" [N]o > ")
	word := strings.ToLower(strings.TrimSpace(typed))
	for _, c := range choices {
		if err == nil && (word == c.Key || word == c.Key[:1]) {
			return c.Key, nil
		}
	}
	return "", err
}

// Text implements [add.Prompter].
func (p terminalPrompter) Text(ctx context.Context, q add.Question) (string, error) {
	if q.Fault != "" {
		q.Text = q.Fault + "\n" + q.Text
	}
	if q.Hint != "" {
		q.Hint = "(" + q.Hint + ") "
	}
	return askTyped(ctx, p.App, q.Text, q.Choices, q.Hint+"> ", q.Secret)
}

// Show implements [add.Prompter].
func (p terminalPrompter) Show(c add.Card) { p.Out.Printf("%s", c.Text(cli.LineWidth(p.Out))) }

// confirm asks for a yes.
func confirm(ctx context.Context, a *cli.App, question string) (bool, error) {
	key, err := terminalPrompter{a}.Choose(ctx, question, []add.Choice{{Key: "yes", Label: "[y]es"}})
	return key != "", err
}

// askTyped returns the value that a user typed; the number of a choice selects it.
func askTyped(ctx context.Context, a *cli.App, intro string, choices []string, prompt string, hidden bool) (string, error) {
	end, err := a.Person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	a.Person.Printf("%s\n", intro)
	for i, choice := range choices {
		a.Person.Printf("  %3d  %s\n", i+1, plaintext.Line(choice, 200))
	}
	ask := a.Person.Line
	if hidden {
		ask = a.Person.Secret
	}
	word, err := ask(ctx, prompt)
	if n, wrong := strconv.Atoi(word); wrong == nil && n >= 1 && n <= len(choices) {
		word = choices[n-1]
	}
	return word, err
}

// busy shows what takes a while, and for how long.
func busy(a *cli.App, doing string) (done func()) {
	a.Screen.Transient(doing)
	ended := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		began := time.Now()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				a.Screen.Transient(fmt.Sprintf("%s, %d s", doing, int(time.Since(began).Seconds())))
			case <-ended:
				return
			}
		}
	})
	return func() {
		close(ended)
		ticking.Wait()
		a.Screen.Transient("")
	}
}
