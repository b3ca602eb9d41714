package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/registry"
)

// lookUp finds a name in the registries.
func (w *addition) lookUp(_ context.Context, word string) error {
	return usagef("%s: expected npm:, pypi:, cargo:, nuget:, docker: or mcpb: and a package, a URL, or a folder such as ./%s", word, word)
}

// packageRunners are the programs of which a kind of packages needs one.
func packageRunners(kind string) []string {
	switch kind {
	case "npm":
		return []string{"npm"}
	case "pypi":
		return []string{"uv", "python3", "python"}
	case "cargo":
		return []string{"cargo"}
	case "nuget":
		return []string{"dotnet"}
	case "oci":
		return []string{"docker", "podman"}
	}
	return nil
}

// canRun reports whether a kind of packages can be installed and run here.
func canRun(kind string) bool {
	programs := packageRunners(kind)
	return len(programs) == 0 || slices.ContainsFunc(programs, func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	})
}

// chooseWay chooses between addresses and packages: an address first, and of the packages the first that can run here.
func (w *addition) chooseWay() error {
	if !w.flags.local {
		for _, kind := range []string{"streamable-http", "sse", ""} {
			for i, r := range w.server.Remotes {
				if r.Type == kind && r.URL != "" {
					w.remote = &w.server.Remotes[i]
					return nil
				}
			}
		}
	}
	var missing []string
	for i, p := range w.server.Packages {
		if p.Transport.Type != "" && p.Transport.Type != "stdio" {
			missing = append(missing, p.RegistryType+" (which serves at an address of its own)")
			continue
		}
		if !canRun(p.RegistryType) {
			missing = append(missing, p.RegistryType+" (needs "+strings.Join(packageRunners(p.RegistryType), " or ")+")")
			continue
		}
		w.pkg = &w.server.Packages[i]
		return nil
	}
	switch {
	case len(missing) > 0:
		return &connectError{fmt.Errorf("%s: none of its packages can be started here: %s", w.server.Name, plaintext.Line(strings.Join(missing, ", "), maxReason))}
	case w.flags.local:
		return &connectError{fmt.Errorf("%s: it has no package; leave --local out to reach it at its URL", w.server.Name)}
	}
	return &connectError{fmt.Errorf("%s: its registry names neither a package nor a URL of it", w.server.Name)}
}

// packageOf is what is installed of a package that a registry lists.
func packageOf(p *registry.Package) install.Package {
	version := p.Version
	if version == "latest" {
		version = ""
	}
	return install.Package{Type: p.RegistryType, Name: p.Identifier, Version: version, SHA256: p.FileSHA256}
}

// install finds the exact version, and puts it into the cache.
func (w *addition) install(ctx context.Context) error {
	if err := w.compareNames(ctx); err != nil {
		return err
	}
	store, err := w.app.locks.store()
	if err != nil {
		return err
	}
	p := packageOf(w.pkg)
	p.Scripts = w.flags.scripts
	w.app.screen.Transient("resolving " + p.Type + ":" + plaintext.Line(p.Name, 80))
	defer w.app.screen.Transient("")
	if w.locked, err = store.Resolve(ctx, p); err != nil {
		return notInstalled(err)
	}
	if w.advice, err = store.Advice(ctx, w.locked); err != nil {
		w.notes = append(w.notes, "what its registry says of this version is not known: "+plaintext.Line(err.Error(), maxReason))
	}
	if w.advice.Pulled {
		return &connectError{fmt.Errorf("%s %s %s was pulled by its author or its registry, so it is not installed; newest is %s", p.Type, p.Name, w.locked.Version, w.advice.Newest)}
	}
	if w.advice.Deprecated != "" {
		w.notes = append(w.notes, "deprecated: "+plaintext.Line(w.advice.Deprecated, maxReason))
	}
	w.app.screen.Transient("installing " + p.Type + ":" + plaintext.Line(p.Name, 80) + " " + plaintext.Line(w.locked.Version, 40))
	if w.program, err = store.Install(ctx, w.locked); err != nil {
		return notInstalled(err)
	}
	return nil
}

// notInstalled is why a package is not installed, with what to do.
func notInstalled(err error) error {
	if errors.Is(err, install.ErrScripts) {
		err = fmt.Errorf("%w; --scripts allows it", err)
	}
	return &connectError{err}
}

// compareNames asks about a name that looks like a better known one, before anything of that package is on this machine.
func (w *addition) compareNames(ctx context.Context) error {
	doubt := w.likeness()
	if doubt == "" || w.flags.sure {
		return nil
	}
	if w.flags.yes || !w.app.asks() {
		return &connectError{fmt.Errorf("not added: %s; --sure adds it all the same", doubt)}
	}
	if agreed, err := w.app.confirm(ctx, "CAREFUL: "+doubt+". Go on? [y]es, [N]o > "); err != nil || agreed {
		return err
	}
	return &connectError{errors.New("not added: nobody was sure of its name")}
}

// likeness says which better known package a name looks like.
func (w *addition) likeness() string {
	known := wellKnown(w.pkg.RegistryType)
	if slices.Contains(known, w.pkg.Identifier) {
		return ""
	}
	for _, name := range known {
		if why := looksLike(w.pkg.Identifier, name); why != "" {
			return fmt.Sprintf("%s is not the well-known %s, and looks like it: %s", plaintext.Line(w.pkg.Identifier, 100), name, why)
		}
	}
	return ""
}

// wellKnown are packages of servers that others are made to be taken for.
func wellKnown(kind string) []string {
	switch kind {
	case "npm":
		return []string{"@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem", "@modelcontextprotocol/server-memory",
			"@modelcontextprotocol/server-sequential-thinking", "@playwright/mcp", "@wonderwhy-er/desktop-commander", "@upstash/context7-mcp", "@notionhq/notion-mcp-server",
			"chrome-devtools-mcp", "mcp-remote", "firecrawl-mcp", "@sentry/mcp-server", "@stripe/mcp", "@supabase/mcp-server-supabase", "figma-developer-mcp", "tavily-mcp", "exa-mcp-server"}
	case "pypi":
		return []string{"mcp-server-time", "mcp-server-git", "mcp-server-fetch", "mcp-server-sqlite", "mcp-atlassian", "markitdown-mcp", "duckduckgo-mcp-server", "arxiv-mcp-server", "awslabs-core-mcp-server"}
	}
	return nil
}

// looksLike says in what way a name can be taken for a known one; empty if it cannot.
func looksLike(name, known string) string {
	owner, last, scoped := strings.Cut(known, "/")
	otherOwner, otherLast, otherScoped := strings.Cut(name, "/")
	plain := func(s string) string {
		return strings.NewReplacer("-", "", "_", "", ".", "", "@", "", "/", "").Replace(strings.ToLower(s))
	}
	switch d := letters(strings.ToLower(name), strings.ToLower(known)); {
	case d == 0:
		return "only its case differs"
	case plain(name) == plain(known):
		return "only separators differ"
	case d == 1 && len(known) > 5:
		return "one letter differs"
	case d == 2 && len(known) > 10:
		return "two letters differ"
	case scoped && otherScoped && last == otherLast && letters(owner, otherOwner) <= 3:
		return "its owner has nearly the same name"
	}
	return ""
}

// letters is the number of letters to insert, delete, replace or swap with the next one.
func letters(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return max(len(a), len(b))
	}
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
