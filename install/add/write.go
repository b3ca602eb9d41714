package add

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
)

// keep stores the result after the user agreed. It stores approvals and secrets first, because they
// have no effect alone, and then the lock together with the configuration. words are those of the
// current entry, if there is one.
func (w *addition) keep(ctx context.Context, words []string, locked *install.LockedServer, edit func([]byte) ([]byte, error)) error {
	if err := w.Launcher.Locks.Note(w.configuration); err != nil {
		return err
	}
	for name, value := range w.secrets {
		if w.KeepSecret == nil {
			return fmt.Errorf("the secret %s is not kept: no secrets are kept here", name)
		}
		if err := w.KeepSecret(ctx, name, value); err != nil {
			return fmt.Errorf("the secret %s is not kept: %w", name, err)
		}
	}
	var was []guard.Definition
	var err error
	if len(w.dry.definitions) > 0 {
		if was, err = w.approve(w.dry.definitions); err != nil {
			return err
		}
	}
	if err := w.Launcher.Locks.Change(ctx, install.Change{Configuration: w.configuration, Name: w.name, Words: words, Locked: locked, Edit: edit}); err != nil {
		if len(w.dry.definitions) > 0 {
			_, fault := w.approve(was)
			err = errors.Join(err, fault)
		}
		return err
	}
	if w.locked != nil { // another process, with junction server remove, may have pruned it meanwhile
		store, err := w.Launcher.Locks.Store()
		if err == nil {
			_, err = store.Install(ctx, w.locked)
		}
		if err != nil {
			return notInstalled(err)
		}
	}
	if file, err := config.Load(w.configuration, config.Options{}); err == nil { // an unreadable file is reported at the next start
		if d, found := file.Server(w.name); found && d.Project {
			w.Launcher.StoreConsent(launch.Entry{Name: d.Name, Definition: d})
		}
	}
	return nil
}

// write writes an added server.
func (w *addition) write(ctx context.Context) (*Result, error) {
	err := w.keep(ctx, w.replaces, w.lockedServer(), func(data []byte) (_ []byte, err error) {
		if w.replaces != nil {
			if data, err = hostconfig.RemoveServer(data, w.name); err != nil {
				return nil, err
			}
		}
		return hostconfig.AddServer(data, w.name, w.written)
	})
	if err != nil {
		return nil, err
	}
	r := &Result{Name: w.name, NeedsLogin: w.dry.login}
	if len(w.dry.tools) > 0 {
		r.FirstCall = w.firstCall()
	}
	if !r.NeedsLogin && w.sandbox != nil && w.bySettings == nil && len(w.dry.unconfined) == 0 { // lookups of missing files fail without a report: see docs/sandbox.md
		r.HowToAllow = w.howToAllow()
	}
	return r, nil
}

// howToAllow describes the limits of a confined program and how to allow more.
func (w *addition) howToAllow() string {
	files, host := "no files", "no host"
	if len(w.sandbox.Read)+len(w.sandbox.Write) > 0 {
		files = "no other files"
	}
	if len(w.sandbox.Hosts) > 0 {
		host = "no other host"
	}
	name := plaintext.ShellWord(w.name)
	text := fmt.Sprintf("It can read %s of yours, and reaches %s. To allow more: junction server sandbox allow %s --read FOLDER, --write FOLDER or --host HOST", files, host, name)
	if runtime.GOOS == "linux" {
		text += "; junction server sandbox learn " + name + " finds its needs"
	}
	return text
}

// firstCall returns a command line that calls the read-only tool with the fewest required
// arguments. If there is none, it lists the tools. It skips names that begin with a dash, because
// they would be taken for flags.
func (w *addition) firstCall() string {
	best := []string{"junction", "list", "tools", plaintext.ShellWord(w.name)}
	found := false
	for _, one := range w.dry.definitions {
		if one.Kind != guard.Tool || strings.HasPrefix(one.Name, "-") || !slices.ContainsFunc(w.dry.tools, func(t *mcp.Tool) bool { return t.Name == one.Name && t.Annotations.ReadsOnly() }) {
			continue
		}
		var schema struct {
			Required []string `json:"required"`
		}
		_ = json.Unmarshal(one.Schema, &schema) // if it is invalid, the call reports missing arguments
		words := []string{"junction", "call", plaintext.ShellWord(w.name), plaintext.ShellWord(plaintext.Line(one.Name, 100))}
		for _, name := range schema.Required {
			words = append(words, plaintext.ShellWord(plaintext.Line(name, 100)+"=…"))
		}
		if !found || len(words) < len(best) {
			best, found = words, true
		}
	}
	return strings.Join(best, " ")
}

// lockedServer returns the locked data of the server.
func (w *addition) lockedServer() *install.LockedServer {
	l := &install.LockedServer{Replaces: w.words(), Package: w.locked, Definitions: lockedDefinitions(w.dry.definitions), Sandbox: w.sandbox, Name: w.server.Name, Source: w.sourceURL(aboutPackage{})}
	if w.locked != nil && l.Source == "" {
		l.Source = w.about().Source
	}
	if w.entry != nil {
		l.Registry = w.entry.Source
	}
	return l
}
