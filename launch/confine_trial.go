package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/listfile"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/sandbox"
)

const (
	maxFitting   = 1000 // profiles that are remembered
	maxFailTexts = 256  // texts of one failed request that are searched for paths

	fittingTime = 2 * time.Second // that their list is waited for
)

// A fitting profile is one in which a program did something and was refused nothing.
type fitting struct {
	Key    string    `json:"key"`
	Server string    `json:"server"`
	Since  time.Time `json:"since"`
}

// A trial finds out whether a profile fits its program. Watching reads makes a program slower, so a trial
// watches until the profile fits, and again once it does not.
type trial struct {
	fits      *listfile.File[fitting]
	key       string
	server    string
	wasFit    bool
	answered  atomic.Bool // anything at all
	works     atomic.Bool
	isRefused atomic.Bool
}

// newTrial returns nil if no reads are watched, or if the result cannot be stored and all are watched.
func (l *Launcher) newTrial(c *command.Command, server string, p sandbox.Profile, o sandbox.Options) *trial {
	if runtime.GOOS != "linux" || p.By != "" || o.Record != nil {
		return nil
	}
	path, err := l.Place.State("fitting.json")
	if err != nil {
		return nil
	}
	fits, err := listfile.Open(path, "the list of profiles that fit", func(f fitting) string { return f.Key })
	if err != nil {
		return nil
	}
	t := &trial{fits: fits, server: server}
	var env []string
	for _, pair := range c.Env {
		name, value, _ := strings.Cut(pair, "=")
		if filepath.IsAbs(value) { // not a secret, of which not even a hash is kept
			name = pair
		}
		env = append(env, name)
	}
	slices.Sort(env) // they come in any order
	all, err := json.Marshal([]any{p, c.Name, c.Args, env, c.Dir, o.Package, versionOf(l.Place, c)})
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(all)
	t.key = hex.EncodeToString(sum[:])
	_, t.wasFit, err = fits.Find(t.key)
	if err != nil {
		return nil
	}
	return t
}

// versionOf tells a program from another one that takes its place, such as after an upgrade.
func versionOf(p place.Place, c *command.Command) string {
	path := c.Name
	if !strings.ContainsRune(path, filepath.Separator) {
		path, _ = p.LookPath(path)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(c.Dir, path)
	}
	return filename.Stamp(path)
}

// hear returns middleware that reports the outcome of requests to the trial. The trial looks for paths of
// a failed request in the sandbox.
func (t *trial) hear(box *sandbox.Sandbox) func(context.Context, *mcp.Request, mcp.Result, error) {
	return func(ctx context.Context, req *mcp.Request, result mcp.Result, err error) {
		switch mcp.OutcomeOf(ctx, &result, err) {
		case mcp.OutcomeOK:
			t.answered.Store(true)
			if req.Name != "" { // a tool, prompt or resource was used
				t.works.Store(true)
			}
		case mcp.OutcomeToolError, mcp.OutcomeError:
			texts := AppendTexts(AppendTexts(nil, req.Params), result.JSON)
			if err != nil {
				texts = append(texts, err.Error())
			}
			box.Failed(texts...)
		}
	}
}

// AppendTexts appends the strings in a JSON value.
func AppendTexts(texts []string, value []byte) []string {
	if len(texts) < maxFailTexts {
		jsonrpc.EachText("", value, func(_, text string) bool {
			texts = append(texts, text)
			return len(texts) < maxFailTexts
		})
	}
	return texts
}

// end stores the result when a program has ended, together with the results of other starts.
func (t *trial) end() {
	isFit := t.works.Load() && !t.isRefused.Load()
	if !isFit && !t.isRefused.Load() && (!t.wasFit || t.answered.Load()) {
		return // it showed nothing
	}
	isThis := func(f fitting) bool { return f.Key == t.key }
	if all, err := t.fits.All(); err == nil && slices.ContainsFunc(all, isThis) == isFit {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), fittingTime)
	defer cancel()
	_ = t.fits.Change(ctx, func(all []fitting) ([]fitting, error) { // else it is found out once more
		all = slices.DeleteFunc(all, isThis)
		if isFit {
			all = append(all, fitting{t.key, t.server, time.Now().UTC().Truncate(time.Second)})
		}
		return all[max(0, len(all)-maxFitting):], nil
	})
}
