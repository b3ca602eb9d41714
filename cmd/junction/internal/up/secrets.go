package up

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// A secretWatch finds servers whose stored secrets, or files with secrets, changed. It is for the
// goroutine of watch; only version is safe for concurrent use.
type secretWatch struct {
	stamp string                // of the store and the files when they were last looked at
	seen  map[string]seenSecret // by server

	mu      sync.Mutex
	renewed map[string]int // how often each server was replaced because of a secret; guarded by mu
}

// A seenSecret holds an entry, and the digest of it with its values.
type seenSecret struct {
	entry  string
	digest cli.Digest
}

// look returns the entries whose values differ from those at the last look, although the entries
// themselves are the same. It reads nothing while no file has changed.
func (w *secretWatch) look(ctx context.Context, a *cli.App, entries []launch.Entry) (changed []launch.Entry) {
	var with []launch.Entry
	stamp, _ := stampOfState(a.Place, "state.db", "")
	for _, e := range entries {
		if d := e.Definition; d != nil && !d.Disabled && d.HasSecrets() && !launch.NeedsInput(d) {
			with = append(with, e)
			for _, path := range d.SecretFiles() {
				stamp += filename.Stamp(path)
			}
			stamp += d.Hash() + d.Name
		}
	}
	if len(with) == 0 || stamp == w.stamp {
		return nil
	}
	w.stamp = stamp
	seen := map[string]seenSecret{}
	for _, e := range with {
		before, known := w.seen[e.Name]
		s, err := e.Definition.Resolve(ctx)
		if err != nil { // the server keeps the earlier value, or fails with the reason
			if known {
				seen[e.Name] = before
			}
			continue
		}
		text, _ := json.Marshal(e.Definition.Entry) // encoding texts and numbers never fails
		now := seenSecret{string(text) + e.Definition.Hash(), cli.EntryDigest(a.Place, e, s)}
		if known && before.entry == now.entry && before.digest != now.digest {
			changed = append(changed, e)
		}
		seen[e.Name] = now
	}
	w.seen = seen
	return changed
}

// version returns a text that changes when a server is replaced because of a secret.
func (w *secretWatch) version(e launch.Entry) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := w.renewed[e.Name]; n > 0 {
		return fmt.Sprint(n)
	}
	return ""
}

// renew makes the next reload replace a server.
func (w *secretWatch) renew(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.renewed == nil {
		w.renewed = map[string]int{}
	}
	w.renewed[name]++
}

// renewSecrets replaces the connected servers whose secrets changed, and reports the programs that
// need a restart for that. It reports whether a server must be replaced, which a reload does.
func (v *Served) renewSecrets(ctx context.Context) (renewed bool) {
	changed := v.secrets.look(ctx, v.App, v.serverEntries())
	if len(changed) == 0 {
		return false
	}
	states := map[string]gateway.Status{}
	for _, s := range v.Gateway.Members().Status() {
		states[s.Name] = s
	}
	var kept, replaced []string
	for _, e := range changed {
		own := v.Gateway.Layers().Plan().Settings.Servers[e.Name]
		switch state := states[e.Name]; {
		case state.State != gateway.Connected && state.State != gateway.Unresponsive: // it gets the secret when it connects
		case own.OnSecretChange == "restart" || own.OnSecretChange == "" && (!launch.IsProgram(e.Definition.Kind) || e.IsAPI()):
			v.secrets.renew(e.Name)
			replaced = append(replaced, e.Name)
		default:
			kept = append(kept, e.Name)
		}
	}
	if len(replaced) > 0 {
		v.App.Screen.Printf("junction: a secret changed, so these servers connect again: %s\n", plaintext.Line(strings.Join(replaced, ", "), cli.MaxReason))
	}
	for _, name := range kept {
		v.App.Screen.Printf("junction: a secret of server %q changed; the program gets it when it starts again: junction restart %s\n", plaintext.Line(name, cli.MaxReason), plaintext.ShellWord(name))
	}
	return len(replaced) > 0
}
